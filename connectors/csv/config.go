package csv

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/compress"
	"github.com/sdlfilter/sdlfilter/internal/labels"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/internal/text"
)

// SourceConfig describes CSV files to be read.
type SourceConfig struct {
	Path      string            `yaml:"path" doc:"a file, a folder, a glob, or - for stdin; .gz and .zst are decompressed"`
	Delimiter string            `yaml:"delimiter" doc:"the character that separates fields; by default a comma, for .tsv a tab"`
	Quote     string            `yaml:"quote" doc:"the character that encloses quoted fields; by default a double quote"`
	Header    *bool             `yaml:"header" doc:"whether the first record contains the names of the columns; by default true"`
	Names     []string          `yaml:"names" doc:"the columns' names if there is no header; by default c1, c2, …"`
	Nulls     []string          `yaml:"nulls" doc:"texts that mean a missing value if they are not in quotes; by default the empty field"`
	NA        []string          `yaml:"na" doc:"texts that mean a missing value, in quotes or not, under the name that R uses; the empty field is also a missing value"`
	Encoding  string            `yaml:"encoding" doc:"the text's character encoding, such as windows-1252 or utf-16; by default UTF-8. The output is always UTF-8"`
	Decimal   string            `yaml:"decimal" doc:"the decimal sign, a point (default) or a comma"`
	Thousands string            `yaml:"thousands" doc:"the character between groups of three digits; by default digits are not grouped"`
	Types     map[string]string `yaml:"types" doc:"types of columns, declared instead of inferred: int64, float64, string, bool, date, timestamp, timestamptz, decimal(p,s)"`

	// Stdin is read for the path -; nil: os.Stdin.
	Stdin io.Reader `yaml:"-" json:"-"`

	survey json.RawMessage       // result of another process's survey of the values; nil: a survey is made
	needed func(stream int) bool // which files are opened in addition to the first; nil: all
}

// SinkConfig describes CSV files to be written.
type SinkConfig struct {
	Path        string  `yaml:"path" doc:"a file, a folder, or - for stdout; .gz and .zst are compressed"`
	Delimiter   string  `yaml:"delimiter" doc:"the character that separates fields; by default that of the source if the source is CSV, otherwise a comma"`
	Header      *bool   `yaml:"header" doc:"whether the first record contains the names of the columns; by default as in the source if the source is CSV, otherwise true"`
	Nulls       *string `yaml:"nulls" doc:"the text for a missing value; by default the first text in nulls of a CSV source, otherwise the empty field; in masked columns every missing value is written so"`
	Quoting     string  `yaml:"quoting" doc:"minimal (default): only fields that need quotes, and unchanged fields as in the source; all: every field that is not null"`
	LineEnding  string  `yaml:"line_ending" doc:"lf or crlf; by default as in each record of the source if the source is CSV, otherwise lf"`
	Decimal     string  `yaml:"decimal" doc:"the decimal sign, a point or a comma; by default that of the source if the source is CSV, otherwise a point"`
	Compression string  `yaml:"compression" doc:"none, gzip or zstd; by default determined by the path's extension"`

	Codebook string   `yaml:"codebook" doc:"a second CSV file, with what is released of the labels of a source that has them (SPSS, Stata, SAS)"`
	Labels   []string `yaml:"labels" doc:"what the codebook has: values (labels of codes that occur in the release), variables; by default values"`

	// Stdout is written for the path -; nil: os.Stdout.
	Stdout io.Writer `yaml:"-" json:"-"`
}

// Check implements connectors.SourceConfig.
func (c *SourceConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" {
		ps.Addf("path", "must name a file, a folder, a glob, or - for stdin")
	}
	objectpath.Check(&ps, "path", c.Path)
	d := checkByte(&ps, "delimiter", c.Delimiter, ',')
	q := checkByte(&ps, "quote", c.Quote, '"')
	if d == q {
		ps.Addf("quote", "must not be the delimiter")
	}
	for _, list := range []struct {
		path  string
		words []string
	}{{"nulls", c.Nulls}, {"na", c.NA}} {
		for i, n := range list.words {
			if strings.ContainsAny(n, "\r\n"+string(rune(d))+string(rune(q))) {
				ps.Addf(fmt.Sprintf("%s[%d]", list.path, i), "must not hold the delimiter, a quote or a line end")
			}
		}
	}
	if c.Nulls != nil && c.NA != nil {
		ps.Addf("na", "must be left out where nulls is given: they say the same")
	}
	if _, err := text.DecoderOf(c.Encoding); err != nil {
		ps.Addf("encoding", "%v", err)
	}
	checkDecimal(&ps, c.Decimal)
	if t := c.Thousands; t != "" && (!oneCharacter(t) || strings.ContainsAny(t, "0123456789-+eE\r\n"+string(rune(q)))) {
		ps.Addf("thousands", "must be one character that is no part of a number, got %q", t)
	} else if n := c.notation(); t != "" && t == string(rune(n.point)) {
		ps.Addf("thousands", "must not be the decimal sign, got %q", t)
	}
	if c.header() && len(c.Names) > 0 {
		ps.Addf("names", "must be left out where the file has a header (header: false says that it has none)")
	}
	seen := map[string]bool{}
	for i, n := range c.Names {
		if n == "" || seen[n] {
			ps.Addf(fmt.Sprintf("names[%d]", i), "must be a name that no other column has, got %q", n)
		}
		seen[n] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c.Types)) {
		if _, err := text.ParseType(c.Types[name]); err != nil {
			ps.Addf("types."+name, "%v", err)
		}
	}
	return ps
}

// Check implements connectors.SinkConfig.
func (c *SinkConfig) Check() check.Problems {
	var ps check.Problems
	if c.Path == "" {
		ps.Addf("path", "must name a file, a folder, or - for stdout")
	}
	objectpath.Check(&ps, "path", c.Path)
	c.checkCodebook(&ps)
	d := checkByte(&ps, "delimiter", c.Delimiter, ',')
	if d == '"' {
		ps.Addf("delimiter", "must not be the quote")
	}
	if c.Nulls != nil && strings.ContainsAny(*c.Nulls, "\r\n\""+string(rune(d))) {
		ps.Addf("nulls", "must not hold the delimiter, a quote or a line end")
	}
	if c.Quoting != "" {
		ps.OneOf("quoting", c.Quoting, "minimal", "all")
	}
	checkDecimal(&ps, c.Decimal)
	if c.LineEnding != "" {
		ps.OneOf("line_ending", c.LineEnding, "lf", "crlf")
	}
	if c.Compression != "" {
		ps.OneOf("compression", c.Compression, compress.Codecs...)
	}
	return ps
}

func (c *SinkConfig) checkCodebook(ps *check.Problems) {
	labels.Choice(c.Labels).Check(ps)
	objectpath.Check(ps, "codebook", c.Codebook)
	switch {
	case c.Codebook == "" && c.Labels != nil:
		ps.Addf("labels", "must be left out without codebook")
	case c.Codebook == "-", c.Codebook != "" && publish.CleanPath(c.Codebook) == publish.CleanPath(c.Path):
		ps.Addf("codebook", "must name a file of its own")
	}
}

// checkDecimal requires a point, a comma, or "".
func checkDecimal(ps *check.Problems, word string) {
	if word != "" && word != "." && word != "," {
		ps.Addf("decimal", "must be a point or a comma, got %q", word)
	}
}

// checkByte returns the one byte that a parameter names.
func checkByte(ps *check.Problems, path, s string, byDefault byte) byte {
	b, ok := oneByte(s, byDefault)
	if !ok {
		ps.Addf(path, "must be one ASCII character that is no letter, digit, line end, or part of a number, got %q", s)
	}
	return b
}

func oneByte(s string, byDefault byte) (byte, bool) {
	switch s {
	case "":
		return byDefault, true
	case `\t`, "tab":
		return '\t', true
	}
	b := s[0]
	alnum := b-'0' <= 9 || b|0x20 >= 'a' && b|0x20 <= 'z'
	return b, len(s) == 1 && b < 0x80 && b != 0 && !alnum && b != '\n' && b != '\r' && b != '.' && b != '-' && b != '+'
}

func (c *SourceConfig) header() bool { return c.Header == nil || *c.Header }

func (c *SourceConfig) dialect() dialect {
	byDefault := byte(',')
	if c.tabbed() {
		byDefault = '\t'
	}
	d := dialect{}
	d.delimiter, _ = oneByte(c.Delimiter, byDefault)
	d.quote, _ = oneByte(c.Quote, '"')
	return d
}

func (c *SourceConfig) nulls() []string {
	if c.NA != nil {
		return append([]string{""}, slices.DeleteFunc(slices.Clone(c.NA), func(w string) bool { return w == "" })...)
	}
	if c.Nulls == nil {
		return []string{""}
	}
	return c.Nulls
}

// quotedNulls returns the quote if fields in quotes may be nulls too: na, as R reads a file, does not
// ask for quotes.
func (c *SourceConfig) quotedNulls() byte {
	if c.NA == nil {
		return 0
	}
	return c.dialect().quote
}

// namesMissing: of several texts for a missing value one is
// written in masked columns, where the others would tell the source's missing values from those of
// a mask.
func (c *SinkConfig) namesMissing(src connectors.SourceConfig) string {
	from, ok := src.(*SourceConfig)
	if !ok {
		return ""
	}
	words := from.nulls()
	chosen := ""
	if c.Nulls != nil {
		chosen = *c.Nulls
	} else if len(words) > 0 {
		chosen = words[0]
	}
	var others []string
	for _, w := range words {
		if w != chosen {
			others = append(others, named(w))
		}
	}
	if others == nil {
		return ""
	}
	return fmt.Sprintf("missing values of masked columns are written as %s, also those that are %s in the source",
		named(chosen), strings.Join(others, " or "))
}

// named returns a text for a missing value as messages show it.
func named(word string) string {
	if word == "" {
		return "the empty field"
	}
	return strconv.Quote(word)
}

// Open implements connectors.SourceConfig.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) { return open(ctx, c) }

// Paths implements connectors.SinkConfig.
func (c *SinkConfig) Paths() []string {
	paths := []string{text.CleanPath(c.Path)}
	if c.Codebook != "" {
		paths = append(paths, publish.CleanPath(c.Codebook))
	}
	return paths
}

func (c *SinkConfig) codec() compress.Codec {
	if c.Compression != "" {
		return compress.Codec(c.Compression)
	}
	return compress.Of(c.Path)
}

// Abilities implements connectors.SinkConfig.
func (c *SinkConfig) Abilities() connectors.SinkConfigAbilities {
	return connectors.SinkConfigAbilities{
		ColumnsAlone: true, NamesMissing: c.namesMissing, VariableLabels: c.Codebook != "" &&
			labels.Choice(c.Labels).Has(labels.Variables),
		Placed: c, Rearranged: c.createRearranged,
	}
}

// At implements connectors.Placed.
func (c *SinkConfig) At(path string) connectors.SinkConfig {
	at := *c
	at.Path, at.Compression = path, string(c.codec())
	if c.Codebook != "" {
		at.Codebook = path + ".codebook.csv" // of its own, as the labels are those of its values
	}
	return &at
}

// Extension implements connectors.Placed.
func (c *SinkConfig) Extension() string { return Kind.Extensions[0] + c.codec().Extension() }
