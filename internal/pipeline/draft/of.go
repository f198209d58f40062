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
	"github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Of drafts a configuration for the file, folder or glob at path, which is read as config says.
// Options that are not set and that a source can guess, such as the delimiter of a CSV file,
// are guessed and written into the draft.
func Of(ctx context.Context, path string, config connectors.SourceConfig) (*Draft, error) {
	format, base, err := formats.Of(path)
	if err != nil {
		return nil, err
	}
	options := optionsOf(config.Abilities().Options)
	if guess := config.Abilities().Guess; guess != nil {
		if err := guess(ctx); err != nil {
			return nil, err
		}
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
	name := nameOf(base)
	sink, to := sinkOf(format), released(path, name)
	if sink.Name != format.Name {
		to = "release/" + name + sink.Extensions[0]
	}
	choice := ""
	if sink.Labelled && labelled(src.Schema()) {
		choice = ", labels: [values, variables]"
	}
	return &Draft{
		Guessed: options != optionsOf(config.Abilities().Options),
		Name:    name, Looked: look.Seen(""), Listed: look.List(),
		Source: fmt.Sprintf("{%s: {path: %s%s}}", format.Name, scalar(path), optionsOf(config.Abilities().Options)),
		Sink:   fmt.Sprintf("{%s: {path: %s%s}}", sink.Name, scalar(to), choice),
	}, nil
}

// sinkOf is the format of the release: that of the source or, if it cannot be written, the one with room for most
// of what it says (Stata's, of files of SAS).
func sinkOf(source connectors.Format) connectors.Format {
	if source.NewSink != nil {
		return source
	}
	for _, f := range formats.All {
		if f.NewSink != nil && f.Labelled && f.Name == "stata" {
			return f
		}
	}
	return formats.All[0]
}

// labelled reports whether some column has a label, or labels of its values.
func labelled(s *microdata.Schema) bool {
	return slices.ContainsFunc(s.Fields, func(f microdata.Field) bool {
		return f.Described != nil && (f.Described.Label != "" || len(f.Described.Values) > 0)
	})
}

// optionsOf writes the options of a source other than its path.
func optionsOf(options []connectors.Option) string {
	var b strings.Builder
	for _, o := range options {
		switch {
		case o.Text != nil && *o.Text != "":
			fmt.Fprintf(&b, ", %s: %q", o.Name, *o.Text)
		case o.Words != nil && len(*o.Words) > 0:
			words := make([]string, len(*o.Words))
			for i, w := range *o.Words {
				words[i] = fmt.Sprintf("%q", w)
			}
			fmt.Fprintf(&b, ", %s: [%s]", o.Name, strings.Join(words, ", "))
		}
	}
	return b.String()
}

// nameOf returns the pipeline's name: the name of the file without wildcards. base is its path
// without extensions.
func nameOf(base string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]{}$\/`, r) || r < ' ' {
			return -1
		}
		return r
	}, filepath.Base(base)), " .-_")
	if name == "" {
		return "release"
	}
	return name
}

// released returns the path of the release: the source's own name in the folder release.
func released(path, name string) string {
	if strings.ContainsAny(path, "*?[") || strings.HasSuffix(path, "/") {
		return "release/" + name
	}
	return "release/" + filepath.Base(path)
}

// Ask asks about the columns whose role is unsure. An empty answer keeps the guess; at the end
// of the input, all remaining guesses are kept.
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
