package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

type source struct {
	config *SourceConfig
	*text.Input
	tree     *members.Tree
	surveyed *node // the result of the survey of the values; nil if they can be read only once
	schema   *microdata.Schema
	records  int64            // -1 if no pass has counted them
	carried  atomic.Bool      // a sink of this package uses the text of the records
	part     *connectors.Part // nil: all of it
}

func open(ctx context.Context, c *SourceConfig) (_ connectors.Source, err error) {
	in, err := text.OpenNeeded(ctx, c.Path, c.Stdin, nil, c.needed, Kind.Extensions...)
	if err != nil {
		return nil, err
	}
	s := &source{config: c, Input: in, records: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	root := &node{}
	for i, name := range slices.Sorted(maps.Keys(c.Types)) {
		t, json, err := parseType(c.Types[name])
		if err != nil {
			return nil, fmt.Errorf("types.%s: %w", name, err)
		}
		n := root.at(name)
		n.declared, n.json, n.expected = t, json, true
		n.first = place{chunk: 1<<62 + int64(i)} // if it is never seen: last, by name
	}
	if err := s.survey(ctx, root); err != nil {
		return nil, err
	}
	if s.tree, s.schema, err = root.settle(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	if s.Rewindable() && s.records > 0 {
		for _, name := range slices.Sorted(maps.Keys(c.Types)) {
			if root.at(name).kinds == 0 {
				return nil, fmt.Errorf("%s: types.%s: no record has such a member", c.Path, name)
			}
		}
	}
	return s, nil
}

func (s *source) Schema() *microdata.Schema { return s.schema }
func (s *source) Records() int64            { return s.records }

func (s *source) Abilities() connectors.SourceAbilities {
	can := s.Input.Abilities()
	can.Folder, can.JSONText, can.InfersTypes, can.Divisible, can.Survey = s.Folder, s.tree.Text, true, s, s.found
	return can
}

// blank reports whether a line is not a record, because it has only white space.
func blank(line []byte) bool { return members.Space(line, 0) == len(line) }

func split(p []byte, max int, final bool) (n, records int) {
	return text.SplitLines(p, max, final, blank)
}

// lines calls f for every record of a chunk with its place in the chunk, without
// surrounding white space and line end.
func lines(p []byte, f func(r, from, to int)) {
	r := 0
	for at := 0; at < len(p); {
		end := len(p)
		if k := bytes.IndexByte(p[at:], '\n'); k >= 0 {
			end = at + k
		}
		to := end
		for to > at && (p[to-1] == ' ' || p[to-1] == '\t' || p[to-1] == '\r') {
			to--
		}
		if from := members.Space(p[:to], at); from < to {
			f(r, from, to)
			r++
		}
		at = end + 1
	}
}

// survey examines every record, or the beginning of an input that can be read only
// once.
func (s *source) survey(ctx context.Context, root *node) error {
	if !s.Rewindable() {
		start, all := s.Input.Head()
		start = bytes.TrimPrefix(start, []byte(text.ByteOrderMark))
		n, _ := split(start, 0, all)
		v, records := surveyor{root: root, p: start[:n]}, int64(0)
		lines(v.p, func(_, from, to int) { v.line(from, to); records++ })
		if records == 0 && all {
			root.list(s.config.listed)
		}
		if 2*v.valid < records {
			return s.named(otherForm(start))
		}
		return nil
	}
	s.surveyed = root
	if s.config.survey != nil {
		return s.recall(root)
	}
	roots := make([]*node, text.Workers())
	surveyors := make([]surveyor, len(roots))
	for w := range roots {
		roots[w] = root.clone(nil)
		surveyors[w].root = roots[w]
	}
	var form error
	records, err := s.pass(connectors.Cut{}).Survey(ctx, func(w int, c *text.Chunk, number int64) {
		v := &surveyors[w]
		if number == 0 {
			form = otherForm(c.Data)
		}
		v.p, v.chunk = c.Data, number
		lines(v.p, func(_, from, to int) { v.line(from, to) })
	})
	if err != nil {
		return err
	}
	s.records = records
	valid := int64(0)
	for w, r := range roots {
		root.merge(r)
		valid += surveyors[w].valid
	}
	if records == 0 {
		root.list(s.config.listed)
	}
	if 2*valid < records {
		return s.named(form)
	}
	return nil
}

// named is an error about the form of the first file with the file's name.
func (s *source) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.Streams()[0], err)
}
