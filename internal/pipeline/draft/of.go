package draft

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Of looks at the file, folder or glob at path, which is read as config says. Of a
// CSV file without a delimiter it finds the one by which its first records fall into
// most fields.
func Of(ctx context.Context, path string, config connectors.SourceConfig) (*Draft, error) {
	format, options := formatOf(path), ""
	if c, ok := config.(*csv.SourceConfig); ok {
		if err := setDelimiter(ctx, c); err != nil {
			return nil, err
		}
		options = optionsOf(c)
	}
	src, err := config.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	look, err := Source(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	looked := fmt.Sprintf("all %d records", look.Records)
	if !look.All {
		looked = fmt.Sprintf("the first %d records", look.Records)
	}
	name := nameOf(path)
	return &Draft{
		Name: name, Looked: looked, Listed: look.List(),
		Source: fmt.Sprintf("{%s: {path: %s%s}}", format, scalar(path), options),
		Sink:   fmt.Sprintf("{%s: {path: %s}}", format, scalar(released(path, name))),
	}, nil
}

// setDelimiter opens a CSV file once to see how its fields are separated.
func setDelimiter(ctx context.Context, c *csv.SourceConfig) error {
	if c.Delimiter != "" && !strings.HasSuffix(uncompressed(c.Path), ".tsv") {
		return nil
	}
	src, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	if s, ok := src.(interface{ Missplit() string }); ok {
		if d := s.Missplit(); d != "" {
			c.Delimiter = d
		}
	}
	return nil
}

// optionsOf writes what a CSV source needs beside its path.
func optionsOf(c *csv.SourceConfig) string {
	var b strings.Builder
	for _, o := range []struct{ name, value string }{
		{"delimiter", c.Delimiter}, {"encoding", c.Encoding}, {"decimal", c.Decimal}, {"thousands", c.Thousands},
	} {
		if o.value != "" {
			fmt.Fprintf(&b, ", %s: %q", o.name, o.value)
		}
	}
	if len(c.NA) > 0 {
		var words []string
		for _, w := range c.NA {
			words = append(words, fmt.Sprintf("%q", w))
		}
		fmt.Fprintf(&b, ", na: [%s]", strings.Join(words, ", "))
	}
	return b.String()
}

// uncompressed is a path without the extension of its compression.
func uncompressed(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(path, "/"), ".gz"), ".zst")
}

// formatOf is the format's word in a configuration, of a path that SourceOf takes.
func formatOf(path string) string {
	switch filepath.Ext(uncompressed(path)) {
	case ".parquet", ".pq":
		return "parquet"
	case ".csv", ".tsv":
		return "csv"
	case ".jsonl", ".ndjson":
		return "jsonl"
	}
	return "arrow"
}

// nameOf is the pipeline's name: the file's without extensions and wildcards.
func nameOf(path string) string {
	base := filepath.Base(uncompressed(path))
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]{}$\/`, r) || r < ' ' {
			return -1
		}
		return r
	}, strings.TrimSuffix(base, filepath.Ext(base))), " .-_")
	if name == "" {
		return "release"
	}
	return name
}

// released is where the release goes: beside nothing that is there, under the
// source's own name.
func released(path, name string) string {
	if strings.ContainsAny(path, "*?[") || strings.HasSuffix(path, "/") {
		return "release/" + name
	}
	return "release/" + filepath.Base(path)
}

// Ask asks about the columns whose role is unsure. An empty answer keeps the
// guess; the end of the input keeps all that are left.
func (d *Draft) Ask(in io.Reader, out io.Writer) error {
	answers := bufio.NewScanner(in)
	for i := range d.Listed {
		c := &d.Listed[i]
		if !c.Unsure {
			continue
		}
		for {
			fmt.Fprintf(out, "%q: %s\n  role (identifier, key, sensitive, other) [%s]: ", c.Field.Name, c.Why, c.Role)
			if !answers.Scan() {
				return answers.Err()
			}
			answer := microdata.Role(strings.ToLower(strings.TrimSpace(answers.Text())))
			if answer == "" {
				break
			}
			if slices.Contains(microdata.Roles, answer) {
				c.Guess = Guess{Role: answer, Why: "as you said; " + c.describe()}
				break
			}
			fmt.Fprintf(out, "  there is no role %q\n", answer)
		}
		c.Unsure = false
	}
	return nil
}
