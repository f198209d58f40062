// Package parquet reads and writes Apache Parquet files, folders and globs.
//
// Columns that no mask and no assessment uses are not encoded again: from Parquet to
// Parquet their pages are copied as compressed bytes, after each was found to contain the
// values of the released records and nothing else. Only pages are copied; all headers and
// metadata are computed from the pages' contents. Other columns are decoded by workers,
// page by page, and written page by page.
//
// Map of the files:
//
//	config.go               the parameters of a pipeline's configuration
//	footer.go, thrift.go    the footer and page headers, read without trust and written back without loss
//	schema.go, types.go     Parquet's schema as a tree, and as Arrow types; arrow_schema.go the other way
//	source.go, reader.go    streams, and blocks cut from them; Next does only I/O
//	parted.go               pages that are decoded in parts, and read again for each
//	page.go, levels.go, values.go, append.go, delta.go, codec.go   from a page's bytes to values
//	arrow_metadata.go, metadata.go                      the key-value metadata that is released
//	numbers.go, arrays.go, nested.go                    from values to the columns of a block
//	sink.go, rowgroup.go    row groups that mirror the source's; splice.go copies chunks that inspect.go and
//	                        exact.go found to contain nothing but values, filter.go
//	                        writes all others again, and those with a rejected record
//	encode.go, shred.go, stats.go                       from released columns to pages
//
// Nothing here knows masks, and nothing here prints a value.
package parquet
