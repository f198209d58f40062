// Package rolling writes a stream without end into Parquet files that become
// complete together with a transaction, so that a crash neither loses nor doubles
// a record.
//
// Below the sink's path each topic has a folder:
//
//	survey/date=2026-01-31/part-00003-0000000000000004096-0000000000000008191.parquet
//	survey/.sdlfilter/                                files that have no name yet
//	survey/.sdlfilter/published-00003.json            what was published last
//
// The date is the UTC day on which the file was begun; the numbers are the
// partition and the places of the first and last record that the file covers,
// padded so that names sort. Names that begin with a dot are hidden from readers
// of the folder.
//
// A commit has two phases around the transaction of a third party. Finish makes
// every open file complete and durable under its temporary name and returns a
// manifest; the caller commits it with the offsets; Publish gives the files their
// names. Whoever reads the partition after a crash calls Recover with the manifest
// of its last committed transaction: what that names is published, what it does
// not name is removed. Before the commit nothing has a name; after it nothing but
// names is missing, for which a disk needs no room.
package rolling
