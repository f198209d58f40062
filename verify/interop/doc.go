// Package interop holds the program against other libraries: what it writes is
// read back by apache/arrow/go/v15 and xitongsys/parquet-go, and files that they
// write are read right. The program is driven as a process; SDLFILTER_BINARY
// names it. The Python files beside the tests do the same with pyarrow and DuckDB; highs.py
// solves for the tests of internal/tables what their own solver does.
package interop
