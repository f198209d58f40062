// Package config is the pipeline file: what it may say, and what is wrong with it.
//
// How a file is read (YAML text to Go values, settings of the environment and the
// command line, ${…}, places of errors, JSON Schema, canonical text) is internal/form,
// which knows none of the fields. Here are their types, with the tags that form
// describes, what those tags cannot say (dialect.go), what is left out and follows
// from the rest, and what must hold across fields (validate.go and the files beside
// it). Every problem is reported with its place, all of a file at once.
//
// What a map compares is expanded here too (map.go, map_parameter.go: lists of
// masks with values in place of their parameters), and the choice that comes of
// it is written back into the text of the file (map_rewrite.go), so that whoever
// explores and whoever runs read the same masks.
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
