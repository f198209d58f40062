package formats_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The toy format has one line of names and then one line of numbers per record, separated by
// spaces. It is defined in one place and listed in one place: the program derives everything else.
// The format mute is the same without any declared ability.

func init() {
	toys := []connectors.Format{
		{
			Name: "toy", SourceDoc: "toys", SinkDoc: "toys to be", Extensions: []string{".toy", ".toys"},
			NewSource: func() connectors.SourceConfig { return new(toyConfig) },
			NewSink:   func() connectors.SinkConfig { return new(toySinkConfig) },
			At:        func(path string) connectors.SourceConfig { return &toyConfig{Path: path} },
		},
		{
			Name: "mute", SourceDoc: "says nothing", SinkDoc: "says nothing", Extensions: []string{".mute"},
			NewSource: func() connectors.SourceConfig { return new(muteConfig) },
			NewSink:   func() connectors.SinkConfig { return new(toySinkConfig) },
			At:        func(path string) connectors.SourceConfig { return &muteConfig{Path: path} },
		},
	}
	formats.All = append(formats.All, toys...)
	connectors.Register(toys...)
}

// muteConfig is a source without abilities but one: without At, a release could take its place.
type muteConfig struct {
	Path    string `yaml:"path" doc:"the file"`
	Streams int    `yaml:"streams" doc:"into how many streams the records are parted"`
	Marks   string `yaml:"marks" doc:"what lines begin with that are no records"`
}

func (c *muteConfig) Check() check.Problems { return nil }

func (c *muteConfig) Abilities() (none connectors.SourceConfigAbilities) { return none }

func (c *muteConfig) Open(context.Context) (connectors.Source, error) {
	text, err := os.ReadFile(c.Path)
	if err != nil {
		return nil, err
	}
	s := &muteSource{schema: &microdata.Schema{}, config: *c}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if c.Marks != "" && strings.HasPrefix(line, c.Marks) {
			continue
		}
		if i == 0 {
			for _, name := range strings.Fields(line) {
				s.schema.Fields = append(s.schema.Fields, microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64})
			}
			continue
		}
		var record []float64
		for _, word := range strings.Fields(line) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: is no record", c.Path, i+1)
			}
			record = append(record, v)
		}
		s.records = append(s.records, record)
	}
	return s, nil
}

type muteSource struct {
	schema  *microdata.Schema
	config  muteConfig
	records [][]float64
}

func (s *muteSource) Schema() *microdata.Schema { return s.schema }
func (s *muteSource) Records() int64            { return int64(len(s.records)) }
func (s *muteSource) Rewindable() bool          { return true }
func (s *muteSource) Close() error              { return nil }

func (s *muteSource) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{At: connectors.NoFiles}
}

func (s *muteSource) Streams() []string {
	names := []string{s.config.Path}
	for i := 1; i < s.config.Streams; i++ {
		names = append(names, fmt.Sprintf("%s (%d)", s.config.Path, i+1))
	}
	return names
}

func (s *muteSource) Read(_ context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	return &toyReader{source: s, layout: layout}, nil
}

// toyReader returns one stream after another, each as one run of records.
type toyReader struct {
	source *muteSource
	layout *microdata.Layout
	stream int
}

func (r *toyReader) Close() error { return nil }

func (r *toyReader) Next(context.Context) (connectors.Raw, error) {
	n := len(r.source.Streams())
	if r.stream == n {
		return nil, io.EOF
	}
	all := r.source.records
	run := &toyRun{r.layout, r.stream, all[len(all)*r.stream/n : len(all)*(r.stream+1)/n]}
	r.stream++
	return run, nil
}

type toyRun struct {
	layout  *microdata.Layout
	stream  int
	records [][]float64
}

func (r *toyRun) Bytes() int64 { return int64(8 * len(r.records)) }

func (r *toyRun) Decode(b *microdata.Block) error {
	b.Reset(r.stream, 0, len(r.records), len(r.layout.Read))
	for i, w := range r.layout.Read {
		if w.As == microdata.Array {
			builder := array.NewFloat64Builder(memory.DefaultAllocator)
			for _, record := range r.records {
				builder.Append(record[w.Field])
			}
			b.Columns[i].Array = builder.NewArray()
			continue
		}
		v := b.Columns[i].Alloc(len(r.records), false)
		for row, record := range r.records {
			v.Values[row] = record[w.Field]
		}
	}
	return nil
}

// toyConfig is a source that declares its abilities.
type toyConfig muteConfig

func (c *toyConfig) Check() check.Problems { return nil }

func (c *toyConfig) Open(ctx context.Context) (connectors.Source, error) {
	s, err := (*muteConfig)(c).Open(ctx)
	if err != nil {
		return nil, err
	}
	return &toySource{s.(*muteSource)}, nil
}

func (c *toyConfig) Abilities() connectors.SourceConfigAbilities {
	marks := connectors.Option{Name: "marks", Doc: "what lines begin with that are no records", Text: &c.Marks}
	return connectors.SourceConfigAbilities{Options: []connectors.Option{marks}, Guess: c.guess}
}

func (c *toyConfig) guess(context.Context) error {
	text, err := os.ReadFile(c.Path)
	if strings.Contains(string(text), "\n#") {
		c.Marks = "#"
	}
	return err
}

type toySource struct{ *muteSource }

func (s *toySource) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{
		Unchanged: func() error { return nil }, At: s.at, PartitionKeys: func() []string { return nil }, InfersTypes: true,
	}
}

func (s *toySource) at(path string) (bool, error) {
	a, err := os.Stat(s.config.Path)
	b, missing := os.Stat(path)
	return err == nil && missing == nil && os.SameFile(a, b), nil
}

// toySinkConfig is a sink without abilities.
type toySinkConfig struct {
	Path string `yaml:"path" doc:"the file"`
}

func (c *toySinkConfig) Check() check.Problems          { return nil }
func (c *toySinkConfig) Carries(connectors.Source) bool { return false }
func (c *toySinkConfig) Paths() []string                { return []string{c.Path} }

func (c *toySinkConfig) Abilities() (none connectors.SinkConfigAbilities) { return none }

func (c *toySinkConfig) Create(_ context.Context, plan connectors.Plan) (connectors.Sink, error) {
	if err := connectors.Spare(plan.Source, c.Path); err != nil {
		return nil, err
	}
	f, err := publish.Create(c.Path, publish.Public)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(f, strings.Join(plan.Layout.Released().Names(), " "))
	return &toySink{plan.Layout, f}, err
}

type toySink struct {
	layout *microdata.Layout
	*publish.File
}

func (s *toySink) Encode(b *microdata.Block) (connectors.Encoded, error) {
	var lines strings.Builder
	for i := range b.N {
		if b.Rejected(i) {
			continue
		}
		for k, o := range s.layout.Release {
			if k > 0 {
				lines.WriteByte(' ')
			}
			if s.layout.Read[o.Column].As == microdata.Array {
				lines.WriteString(b.Columns[o.Column].OutArray().ValueStr(i))
			} else {
				lines.WriteString(strconv.FormatFloat(b.Columns[o.Column].Out().Values[i], 'f', o.Decimals, 64))
			}
		}
		lines.WriteByte('\n')
	}
	return lines.String(), nil
}

func (s *toySink) Write(_ context.Context, e connectors.Encoded) error {
	_, err := s.File.WriteString(e.(string))
	return err
}

func (s *toySink) Finish(context.Context) error { return s.File.Finish() }

func (s *toySink) Abilities() (none connectors.SinkAbilities) { return none }
