// Package compress wraps text formats in gzip and Zstandard, chosen by the
// file's extension. Decompression and compression run in a goroutine of their
// own beside the one that reads or writes records.
package compress
