// Package iceberg reads and writes tables of Apache Iceberg. A source is one snapshot of a table, whose data files are
// read by the reader of package parquet. A sink writes data files that no snapshot names, and after the verdict adds
// one snapshot to the table.
//
// The metadata are those of the format's specification (https://iceberg.apache.org/spec/): versions 1 to 3 are read,
// version 2 is written. Why iceberg-go, the project's own, is not used: docs/dependencies.md.
package iceberg
