// Package iceberg reads and writes tables of Apache Iceberg. A source is one snapshot of a table, whose data files are
// read by the reader of package parquet. A sink writes data files that no snapshot names, and after the verdict adds
// one snapshot to the table.
//
// The metadata are those of the format's specification (https://iceberg.apache.org/spec/, version 2). iceberg-go has
// its types, schemas, partitions and manifests; table metadata and catalogs are here, because iceberg-go's own link
// gRPC, Substrait and OpenTelemetry (docs/dependencies.md).
package iceberg
