// Package meta has the parts of Iceberg's metadata that are not a table's alone: types and schemas, partitions and what
// makes them of values, manifests and their lists. It does no I/O. What it writes is of version 2 of the format, what
// it reads of 1 and 2 (https://iceberg.apache.org/spec/).
package meta
