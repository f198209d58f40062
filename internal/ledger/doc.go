// Package ledger keeps the releases of records that were published, in one confidential file to which lines are only
// added.
//
// A line is an Entry in JSON: its number, the SHA-256 of the line before it, and either a release that is about to be
// published (Release), or what became of one (Outcome). A release is entered, and is on the disk, before its files
// get their names, and its outcome afterwards. So a release without outcome may have been published, and counts as
// published unless its complete file still lies under its temporary name. A line without its end was cut off while it
// was written: what it says was not done, and the next run removes it.
//
// A Ledger holds an exclusive lock from Open to Close, so that of two runs one is judged after the release of the
// other has been entered. A chain that is broken is an error that names the line.
package ledger
