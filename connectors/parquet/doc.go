// Package parquet reads and writes Apache Parquet files, folders and globs.
//
// What no mask and no assessment touches is not encoded anew: between two Parquet
// files its pages are copied as the compressed bytes they are, once each was found
// to hold the values of the released records and nothing else. Only pages are
// copied; every header and all metadata are made of what the pages hold. What is
// decoded is decoded by workers, page by page, and written page by page.
//
// Map of the files:
//
//	config.go               what a pipeline's configuration says
//	footer.go, thrift.go    the footer and page headers, read without trust and written back without loss
//	schema.go, types.go     Parquet's schema as a tree, and as Arrow types; arrow_schema.go the other way
//	source.go, reader.go    streams, and blocks cut from them; Next does I/O alone
//	page.go, levels.go, values.go, append.go, delta.go, codec.go   a page's bytes made values
//	arrow_metadata.go, metadata.go                      the key-value metadata that survives
//	numbers.go, arrays.go, nested.go                    values made columns of a block
//	sink.go, rowgroup.go    row groups that mirror the source's; splice.go copies chunks that inspect.go and
//	                        exact.go found to be nothing but values, filter.go
//	                        writes all others anew, and those of which a record was rejected
//	encode.go, shred.go, stats.go                       released columns made pages
//
// Nothing here knows masks, and nothing here prints a value.
package parquet
