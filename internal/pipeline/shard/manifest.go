package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/objects"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/transform"
)

// ManifestSchema names the format of a manifest; a change of the format raises the number.
const ManifestSchema = "sdlfilter.shards/5"

// Manifest is the plan of a release in shards. It holds statistics of the data (the standard
// deviations that percentages refer to), and is as confidential as a profile.
type Manifest struct {
	Schema       string   `json:"schema"`
	Version      string   `json:"version"` // of the program: all shards are of one
	Config       string   `json:"config"`  // the configuration's path
	Set          []string `json:"set,omitempty"`
	Loosened     bool     `json:"loosened,omitempty"` // settings that release more were allowed
	ConfigSHA256 string   `json:"config_sha256"`
	KeyID        string   `json:"key_id"`
	Files        []File   `json:"files"` // the source's, in the order of its streams
	Columns      []Column `json:"columns"`

	// Correlations are the correlations of pairs of columns that noise follows.
	Correlations []Correlation `json:"correlations,omitempty"`

	// Earlier are the releases of the ledger by which this one is judged; nil without a ledger.
	Earlier []ledger.Listed `json:"earlier,omitzero"`

	// Survey has the types that were found by reading all values, if the source declares none.
	Survey json.RawMessage `json:"survey,omitempty"`
	Shards []Shard         `json:"shards"`
	// Pairs says that some mask is a swap of scope dataset or of measured numbers. All shards are
	// then surveyed and paired before they run.
	Pairs bool `json:"pairs,omitempty"`

	id string
}

// File identifies a file of the source: a command can tell whether it has changed since the plan.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"` // of its first and last 64 KiB
	ETag   string `json:"etag,omitempty"`   // of an object, in place of the digest
}

// Column is what the masks must know about a column, found once.
type Column struct {
	Name     string       `json:"name"`
	SD       assess.Float `json:"sd"`
	Mean     assess.Float `json:"mean"`
	Decimals int          `json:"decimals"`
}

// Correlation is the correlation of two columns.
type Correlation struct {
	Of    [2]string `json:"of"` // in ascending order
	Value float64   `json:"value"`
}

// Shard is the work of one task: parts of the source, each of which becomes a file.
type Shard struct {
	Parts   []connectors.Part `json:"parts"`
	Records int64             `json:"records"`
}

// ID identifies a plan.
func (m *Manifest) ID() string { return m.id }

// Marshal returns the manifest as JSON.
func (m *Manifest) Marshal() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", " ")
	return append(text, '\n'), err
}

// Read reads a manifest, as Write wrote it. The error, a *pipeline.DataError, says what is wrong with it.
func Read(ctx context.Context, path string) (*Manifest, error) {
	text, err := publish.ReadFile(ctx, path)
	if err != nil {
		return nil, pipeline.DataErrorf("the manifest cannot be read: %v", err)
	}
	return parse(path, text)
}

func parse(path string, text []byte) (*Manifest, error) {
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := json.Unmarshal(text, &struct{ Schema *string }{&m.Schema}); err != nil || m.Schema == "" {
		return nil, pipeline.DataErrorf("%s: is no manifest of `sdlfilter shard plan`", path)
	}
	if m.Schema != ManifestSchema {
		return nil,
			pipeline.DataErrorf("%s: is a manifest of the form %q, but this program reads %s: plan again with this program",
				path, m.Schema, ManifestSchema)
	}
	if err := d.Decode(m); err != nil {
		return nil, pipeline.DataErrorf("%s: is damaged: %v", path, err)
	}
	if len(m.Shards) == 0 {
		return nil, pipeline.DataErrorf("%s: is damaged: it has no shards", path)
	}
	if !m.sound() {
		return nil,
			pipeline.DataErrorf("%s: is damaged: its shards do not contain each record of the files exactly once: plan again",
				path)
	}
	whole, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	m.id = digest(whole)
	return m, nil
}

// is reports whether a text is the JSON of this manifest.
func (m *Manifest) is(text []byte) bool {
	there, err := parse("", text)
	return err == nil && there.id == m.id
}

// Write writes the manifest. Only its owner can read the file; who can read an object depends
// on the bucket.
func (m *Manifest) Write(path string) error {
	text, err := m.Marshal()
	if err != nil {
		return err
	}
	m.id = digest(text)
	return publish.WriteFile(path, publish.Confidential, text)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// unpathed removes the path from an error of the system, because the message names it already.
func unpathed(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// settledColumns returns what a plan has found about the columns: decimals, SD and mean.
func settledColumns(pl *pipeline.Plan) []Column {
	columns := make([]Column, len(pl.Columns))
	for i, c := range pl.Columns {
		columns[i] = Column{Name: c.Name, SD: assess.Float(c.SD), Mean: assess.Float(c.Mean), Decimals: c.Decimals}
	}
	return columns
}

// settledCorrelations returns the correlations that a plan has found, in the order of the columns' names.
func settledCorrelations(pl *pipeline.Plan) []Correlation {
	var list []Correlation
	for of, value := range pl.Correlations() {
		list = append(list, Correlation{of, value})
	}
	slices.SortFunc(list, func(a, b Correlation) int { return slices.Compare(a.Of[:], b.Of[:]) })
	return list
}

// settle gives a plan what the manifest's plan has found.
func (m *Manifest) settle(pl *pipeline.Plan) error {
	if len(m.Columns) != len(pl.Columns) {
		return errOther
	}
	for i := range pl.Columns {
		c, found := &pl.Columns[i], m.Columns[i]
		if c.Name != found.Name {
			return errOther
		}
		c.SD, c.Mean, c.Decimals = float64(found.SD), float64(found.Mean), found.Decimals
		if c.SD != c.SD {
			c.SD = math.NaN()
		}
	}
	known := transform.Correlations{}
	for _, c := range m.Correlations {
		known[c.Of] = c.Value
	}
	pl.SetCorrelations(known)
	return nil
}

var errOther = errors.New("the columns of the source are not those that were planned with: plan again")

// ends is the number of bytes at a file's beginning and end that are digested.
const ends = 64 << 10

// fingerprints returns the identification of the files of a source. For files that are not
// looked at it is the name only.
func fingerprints(ctx context.Context, src connectors.Source, look func(stream int) bool) ([]File, error) {
	divisible := src.Abilities().Divisible
	if divisible == nil {
		return nil, connectors.ErrIndivisible
	}
	var files []File
	for i, name := range src.Streams() {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if !look(i) {
			files = append(files, File{Name: name})
			continue
		}
		in, err := divisible.Stored(i)
		if err != nil {
			return nil, err
		}
		f, err := fingerprint(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, unreadable(name, err)
		}
		f.Name = name
		files = append(files, f)
	}
	return files, nil
}

// unreadable removes the path from an error of the system: the names of folders may be values.
func unreadable(name string, err error) error {
	for _, known := range []error{objects.ErrAbsent, objects.ErrDenied, objects.ErrCondition, context.Canceled,
		context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: cannot be read: %w", name, known)
		}
	}
	return fmt.Errorf("%s: cannot be read", name)
}

func fingerprint(in connectors.Stored) (f File, err error) {
	f.Bytes, f.ETag = in.Size, in.ETag
	if f.ETag != "" {
		return f, nil
	}
	h := sha256.New()
	if _, err = io.Copy(h, io.NewSectionReader(in, 0, ends)); err == nil {
		_, err = io.Copy(h, io.NewSectionReader(in, max(0, f.Bytes-ends), ends))
	}
	f.SHA256 = hex.EncodeToString(h.Sum(nil))
	return f, err
}

// every selects all files, none no file.
func every(int) bool { return true }
func none(int) bool  { return false }

// reads returns a function that selects the files that a shard reads.
func (m *Manifest) reads(shard int) func(stream int) bool {
	return func(stream int) bool {
		return slices.ContainsFunc(m.Shards[shard].Parts, func(p connectors.Part) bool { return p.Stream == stream })
	}
}

// of returns a function that selects the files that a shard compares with the plan: those that
// it reads. Other shards compare the others, and the commit all. Of objects it compares all,
// since a listing has their ETags.
func (m *Manifest) of(shard int) func(stream int) bool {
	reads := m.reads(shard)
	return func(stream int) bool {
		return stream < len(m.Files) && m.Files[stream].ETag != "" || reads(stream)
	}
}

// same compares the source with the plan: the names of its files, and the fingerprints of the
// selected ones. An open object has its content of when it was opened, so objects are requested
// again.
func (m *Manifest) same(ctx context.Context, src connectors.Source, look func(stream int) bool) error {
	files, err := fingerprints(ctx, src, look)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(files, func(f File) bool { return f.ETag != "" }) {
		if err := connectors.Unchanged(src); err != nil {
			return err
		}
	}
	if len(files) != len(m.Files) {
		return fmt.Errorf("the source has %d files, and %d were planned with: plan again", len(files), len(m.Files))
	}
	for i, f := range files {
		if f.Name != m.Files[i].Name || look(i) && f != m.Files[i] {
			return fmt.Errorf("%s: is not the file that was planned with: plan again", f.Name)
		}
	}
	return nil
}

// hidden returns the folder of a plan's parts, beside the release. Parts that are objects have
// no folder: they are invisible uploads.
func (m *Manifest) hidden(release string) string {
	dir, base := filepath.Split(filepath.Clean(release))
	return filepath.Join(dir, "."+base+".shards-"+m.id[:16])
}

// partName returns the name of a part's file in the release. Sorted names are in the order of the
// streams and of the parts of a stream.
func (m *Manifest) partName(shard, part int, extension string) string {
	n := part
	for _, s := range m.Shards[:shard] {
		n += len(s.Parts)
	}
	return fmt.Sprintf("part-%05d%s", n, extension)
}

// check returns an error for configurations that shards cannot run.
func check(pl *pipeline.Plan) error {
	p := pl.Config
	switch {
	case p.Streaming():
		return problem(p, "source",
			"is a stream, whose partitions are its shards already: run it in several processes of one group")
	case pl.Source.Abilities().Divisible == nil || !pl.Source.Rewindable():
		return problem(p, "source."+p.Source.Kind, "cannot be read in parts: Parquet, CSV and JSON Lines files can")
	case p.Sink.Abilities().Placed == nil:
		return problem(p, "sink."+p.Sink.Kind, "cannot be written in parts: Parquet, CSV and JSON Lines files can")
	case len(p.Sink.Config.Paths()) != 1 || pipeline.WritesStdout(p):
		return problem(p, "sink."+p.Sink.Kind+".path", "must be a folder for the parts of the release")
	case p.Sink.Shuffled():
		return problem(p, "sink.order", "shuffled takes all records at one place, which shards are not: use `sdlfilter run`")
	case slices.ContainsFunc(p.Masks, func(m transform.Spec) bool { return transform.NeedsValues(m.Params) != "" }):
		return problem(p, "masks",
			"a mask takes a percentile or a mean of all records first, which shards do not see: give a bound in the column's unit, or use `sdlfilter run`")
	case slices.ContainsFunc(p.Masks, func(m transform.Spec) bool { return transform.NeedsPeople(m.Params) != nil }):
		return problem(p, "masks",
			"a mask takes the places of all records first, which shards do not see: give a file with the places of the population, or use `sdlfilter run`")
	case slices.ContainsFunc(p.Masks, func(m transform.Spec) bool { return transform.NeedsFrequencies(m.Params) != "" }):
		return problem(p, "masks",
			"a mask counts the categories of all records first, which shards do not see: give frequencies, or use `sdlfilter run`")
	case p.Quarantine.Kafka != nil:
		return problem(p, "quarantine.kafka", "a release in shards lists its quarantine in a file: use quarantine.jsonl")
	case len(p.Assess.Emit) > 0:
		return problem(p, "assess.emit", "snapshots are of one run from beginning to end, which shards are not")
	}
	if err := checkMixing(pl); err != nil {
		return err
	}
	for _, key := range hiveKeys(pl.Source) {
		return problem(p, "source."+p.Source.Kind+".path",
			"the files lie in folders named by %s, and the parts of a release in shards lie in one folder: use `sdlfilter run`",
			key)
	}
	return nil
}

// checkMixing returns an error for masks that combine records, other than swaps.
func checkMixing(pl *pipeline.Plan) error {
	for i, mask := range pl.Config.Masks {
		if !transform.MixesRecords(mask.Params) {
			continue
		}
		if !transform.InParts(mask.Params) {
			return problem(pl.Config, pl.MaskPath(i),
				"takes records of all shards together, which shards do not see: use `sdlfilter run`")
		}
	}
	return nil
}

func hiveKeys(src connectors.Source) []string {
	keys, _ := connectors.PartitionKeys(src)
	return keys
}

func problem(p *config.Pipeline, path, format string, args ...any) error {
	return config.Errors{p.Errorf(path, format, args...)}
}
