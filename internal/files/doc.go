// Package files finds the files of a path: a file, a folder or a glob, in an
// order that is the same on every machine, with the Hive partition folders
// (key=value) that the files lie in. It opens no file and knows no format.
package files
