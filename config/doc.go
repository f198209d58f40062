// Package config is the pipeline file: what it may say, how it is read, and
// what is wrong with it.
//
// A file goes through five steps, each in a file of its own: syntax (YAML text
// to nodes), settings (environment and --set put over the file's nodes), expand
// (${…} in scalars), decode (nodes to Go values, along the forms that form.go
// derives from the Go types) and validate (what must hold across fields). Every
// problem of every step is reported with its place, all of a file at once;
// syntax errors alone end the reading, since nothing behind them has a meaning.
//
// The same forms give the JSON Schema (schema.go) and the canonical text whose
// digest identifies a configuration (effective.go), so that a field is declared
// once: as a Go field with the tags
//
//	yaml      its name in the file; ",name" marks the field that holds the key
//	          of a mapping that keeps its order
//	doc       one sentence, shown by editors
//	enum      the words it may be, separated by commas
//	share     "whole": a share from 0 to 1, which may be written as a percentage;
//	          "part": a fraction that may be, of any size
//	default   its value where the file says nothing; as YAML, text as it is
//	required  "true": must be given
//	choice    "true": exactly one of the fields so marked must be given
//
// What a map compares is expanded here too (map.go, map_parameter.go: lists of
// masks with values in place of their parameters), and the choice that comes of
// it is written back into the text of the file (map_rewrite.go, on what place.go
// finds), so that whoever explores and whoever runs read the same masks.
//
// Nothing here touches data or the network. The environment, the pipeline file,
// ${file:…} and, in Secret.Resolve alone, the key are all that is read.
//
// A value comes from --set path.to.field=value, else from the environment
// (SDLFILTER_SOURCE__PARQUET__PATH for source.parquet.path: upper case, two
// underscores for a dot), else from the file, else from the default.
// SDLFILTER_KEY is the customary place of the key and no setting; a variable
// that fits no field is a warning.
//
// Paths in a configuration are relative to the working directory, not to the
// configuration's own folder.
package config
