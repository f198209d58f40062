package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// SourceOf is the source that a path stands for, by the extension of the file or
// of the pattern: a file, a folder named after its format (data.parquet/) or a
// glob (data/*.parquet).
func SourceOf(path string) (connectors.SourceConfig, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(path, "/"), ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".parquet", ".pq":
		return &parquet.SourceConfig{Path: path}, nil
	case ".csv":
		return &csv.SourceConfig{Path: path}, nil
	case ".tsv":
		return &csv.SourceConfig{Path: path, Delimiter: "\t"}, nil
	case ".jsonl", ".ndjson":
		return &jsonl.SourceConfig{Path: path}, nil
	case ".arrow", ".arrows", ".feather":
		return &arrowipc.SourceConfig{Path: path}, nil
	}
	return nil, fmt.Errorf("%s: the format is not known by its name; must end in .parquet, .csv, .tsv, .jsonl, .arrow or .feather", path)
}

// WritesStdout reports whether the release goes to standard output, by its name - or
// by another (/dev/stdout).
func WritesStdout(p *config.Pipeline) bool {
	for _, path := range p.Sink.Config.Paths() {
		if path != "stdout" && !isStdout(path) {
			return false
		}
	}
	return true
}

func isStdout(path string) bool {
	if device, err := publish.Device(path); err != nil || !device {
		return false
	}
	there, err1 := os.Stat(path)
	out, err2 := os.Stdout.Stat()
	return err1 == nil && err2 == nil && os.SameFile(there, out)
}
