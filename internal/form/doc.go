// Package form reads a configuration: YAML text into Go values along forms that it
// derives from the Go types, with the place of everything that is given and of
// everything that is wrong. It knows no field by name; what the fields mean is for
// whoever declares them.
//
// A document goes through four steps, each in a file of its own: syntax (text to
// nodes), setting (environment and --set put over the nodes), expand (${…} in
// scalars) and decode (nodes to Go values). Every problem of every step is reported
// with its place, all of a file at once; syntax errors alone end the reading, since
// nothing behind them has a meaning. What must hold across fields is judged behind
// that, by the owner of the types, who asks the Reading what is given, known and sound.
//
// The same forms give the JSON Schema (schema.go) and the canonical text whose digest
// identifies a configuration (canonical.go), so that a field is declared once: as a Go
// field with the tags
//
//	yaml      its name in the file; ",name" marks the field that holds the key
//	          of a mapping that keeps its order; ",inline" gives the fields of a struct
//	          as if they were the owner's
//	doc       one sentence, shown by editors
//	enum      the words it may be, separated by commas
//	share     "whole": a share from 0 to 1, which may be written as a percentage;
//	          "part": a fraction that may be, of any size
//	default   its value where the file says nothing; as YAML, text as it is
//	required  "true": must be given
//	short     "true": its value may be written in place of the whole mapping, if it is none itself
//	choice    "true": exactly one of the fields so marked must be given
//
// What tags cannot say of a type is in the Dialect. A Document is for the other way:
// it changes a part of a text and leaves every other byte as it is.
package form
