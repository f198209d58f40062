package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The first lines of the files of a survey and of a pairing.
const (
	surveyMagic = "sdlfilter.shard-survey/2\n"
	pairsMagic  = "sdlfilter.shard-pairs/2\n"
)

// Surveyed is the survey of one shard's records by the swaps of scope dataset, or the
// decisions for them. It holds values of records and is as confidential as the data.
type Surveyed struct {
	Plan    string `json:"plan"` // the manifest's ID
	Shard   int    `json:"shard"`
	Pairing string `json:"pairing,omitempty"` // the name of the pairing; "" for a survey

	magic   string
	content []byte
	path    string // of the file that it was read from
}

// Write writes the file so that only its owner can read it: the magic word, a line of JSON, the
// content, and the digest of all that.
func (s *Surveyed) Write(path string) error {
	head, err := json.Marshal(s)
	if err != nil {
		return err
	}
	text := slices.Concat([]byte(s.magic), head, []byte{'\n'}, s.content)
	sum := sha256.Sum256(text)
	return publish.Replace(path, append(text, sum[:]...))
}

// parseSurveyed reads what Write wrote. what is its kind and the command to run again, for the
// error.
func parseSurveyed(path, magic, what string, text []byte) (*Surveyed, error) {
	body := len(text) - sha256.Size
	if !bytes.HasPrefix(text, []byte(magic)) {
		return nil, &StateError{path, "is none of the files of `sdlfilter shard " + what + "`"}
	}
	again := "is damaged or cut off: run `sdlfilter shard " + what + "` again"
	if body < len(magic) {
		return nil, &StateError{path, again}
	}
	if sum := sha256.Sum256(text[:body]); !bytes.Equal(sum[:], text[body:]) {
		return nil, &StateError{path, again}
	}
	head, found, _ := bytes.Cut(text[len(magic):body], []byte{'\n'})
	s := &Surveyed{magic: magic, content: found, path: path}
	if err := json.Unmarshal(head, s); err != nil {
		return nil, &StateError{path, again}
	}
	return s, nil
}

// Survey has the swaps of scope dataset survey one shard, and counts the numbers of columns
// whose values swaps exchange. The caller writes the result.
func Survey(ctx context.Context, p *config.Pipeline, m *Manifest, shard int, o pipeline.Options) (*Surveyed, error) {
	if err := m.paired(shard); err != nil {
		return nil, err
	}
	ctx, o = o.Ready(ctx)
	j, err := resume(ctx, p, m, m.reads(shard), m.of(shard), o)
	if err != nil {
		return nil, err
	}
	defer j.source.Close()
	var counted *assess.Accumulator
	var also []func(b *microdata.Block)
	if j.exchanges() {
		if counted, err = j.originals(); err != nil {
			return nil, err
		}
		also = append(also, counted.Add)
	}
	o.Progress.Start("survey", m.Shards[shard].Records)
	for _, part := range m.Shards[shard].Parts {
		source, err := j.source.Abilities().Divisible.Part(part)
		if err != nil {
			return nil, fmt.Errorf("source: %w", err)
		}
		plan := *j.masked.Plan
		plan.Source = source
		if err := plan.Survey(ctx, j.masked.Chain, o.Progress, also...); err != nil {
			return nil, err
		}
	}
	if err := m.same(ctx, j.source, m.of(shard)); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	var found sections
	if j.masked.Chain.NeedsSurvey() {
		if found[ofChain], err = j.masked.Chain.MarshalSurvey(); err != nil {
			return nil, err
		}
	}
	if counted != nil {
		found[ofDisplacer] = j.masked.Plan.Displacer.MarshalSurvey()
		if found[ofValues], err = counted.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return &Surveyed{Plan: m.id, Shard: shard, magic: surveyMagic, content: found.join()}, nil
}

// paired returns an error if a plan has nothing to pair, or no such shard.
func (m *Manifest) paired(shard int) error {
	switch {
	case !m.Pairs:
		return pipeline.DataErrorf(
			"the plan has no swap of scope dataset, nor one of numbers, so there is nothing to survey or to pair: run the shards")
	case shard < 0 || shard >= len(m.Shards):
		return pipeline.DataErrorf("--shard must be 0 to %d, got %d", len(m.Shards)-1, shard)
	}
	return nil
}

// pairsPath returns the path of the pairs of a shard.
func pairsPath(dir string, shard int) string {
	return strings.TrimSuffix(dir, "/") + fmt.Sprintf("/%d.pairs", shard)
}

// ReadPairs reads what Pair has written for one shard; nil if the plan has no pairs, and then
// no path may be given.
func (m *Manifest) ReadPairs(ctx context.Context, dir string, shard int) (*Surveyed, error) {
	switch {
	case m.Pairs && dir == "":
		return nil,
			pipeline.DataErrorf(
				"the plan has a swap of scope dataset, or one of numbers, for which --pairs must name the folder that `sdlfilter shard pair` has written, after `sdlfilter shard survey` of all shards")
	case !m.Pairs && dir != "":
		return nil,
			pipeline.DataErrorf("--pairs must not be given: the plan has no swap of scope dataset, nor one of numbers")
	case dir == "" || shard < 0 || shard >= len(m.Shards):
		return nil, nil
	}
	return m.readSurveyed(ctx, pairsPath(dir, shard), pairsMagic, "pair", shard)
}

// readSurveyed reads a file that must be of one shard of the plan.
func (m *Manifest) readSurveyed(ctx context.Context, path, magic, what string, shard int) (*Surveyed, error) {
	text, err := publish.ReadFile(ctx, path)
	if err != nil {
		return nil, unread(path, err)
	}
	s, err := parseSurveyed(path, magic, what, text)
	switch {
	case err != nil:
		return nil, err
	case s.Plan != m.id:
		return nil, &StateError{path, "is of another plan"}
	case s.Shard != shard:
		return nil, &StateError{path, fmt.Sprintf("is of shard %d, and not of shard %d", s.Shard, shard)}
	case magic == pairsMagic && s.Pairing == "":
		return nil, &StateError{path, "is damaged: run `sdlfilter shard pair` again"}
	}
	return s, nil
}

// surveys reads the surveys of a folder, in the order of the shards. It must hold one for
// every shard of the plan, and nothing else but the manifest and hidden files.
func (m *Manifest) surveys(ctx context.Context, dir string) ([]string, error) {
	from := make([]string, len(m.Shards))
	err := m.each(ctx, dir, func(path string) error {
		text, err := publish.ReadFile(ctx, path)
		if err != nil {
			return unread(path, err)
		}
		if m.is(text) {
			return nil
		}
		s, err := parseSurveyed(path, surveyMagic, "survey", text)
		switch {
		case err != nil:
			return err
		case s.Plan != m.id:
			return &StateError{path, "is of another plan"}
		case s.Shard < 0 || s.Shard >= len(from):
			return &StateError{path, "is damaged: run `sdlfilter shard survey` again"}
		case from[s.Shard] != "":
			return &StateError{path, fmt.Sprintf("is of shard %d, and so is %s: remove one", s.Shard, from[s.Shard])}
		}
		from[s.Shard] = path
		return nil
	})
	if err != nil {
		return nil, err
	}
	return from, complete(dir, "survey", from)
}
