//go:build !noobjects

package main

// What the program has of object storage. It is a fifth of the binary; -tags noobjects
// builds one without it.
import (
	_ "github.com/sdlfilter/sdlfilter/internal/objects/az"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/gs"
	_ "github.com/sdlfilter/sdlfilter/internal/objects/s3"
)
