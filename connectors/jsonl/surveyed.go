package jsonl

import (
	"encoding/json"
	"errors"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/text"
)

// surveyed is the result of the survey for a member and the members within it, in JSON.
type surveyed struct {
	Name    string      `json:"name,omitempty"`
	Kinds   text.Kinds  `json:"kinds,omitempty"`
	Chunk   int64       `json:"chunk,omitempty"`
	Offset  int         `json:"offset,omitempty"`
	Members []*surveyed `json:"members,omitempty"`
	Records int64       `json:"records,omitempty"` // total number of records; at the root only
}

// errSurvey is returned for an invalid survey from another process.
var errSurvey = errors.New("what was found of the members is damaged")

func (c *SourceConfig) withStreams(needed func(stream int) bool) connectors.SourceConfig {
	choosing := *c
	choosing.needed = needed
	return &choosing
}

func (c *SourceConfig) withSurvey(survey json.RawMessage) connectors.SourceConfig {
	knowing := *c
	knowing.survey = survey
	return &knowing
}

func (s *source) found() (json.RawMessage, error) {
	if s.surveyed == nil {
		return nil, nil
	}
	found := s.surveyed.surveyed()
	found.Records = s.records
	return json.Marshal(found)
}

func (n *node) surveyed() *surveyed {
	s := &surveyed{Name: n.name, Kinds: n.kinds, Chunk: n.first.chunk, Offset: n.first.offset}
	for _, k := range n.kids {
		s.Members = append(s.Members, k.surveyed())
	}
	return s
}

// recall uses the survey of another process instead of making one.
func (s *source) recall(root *node) error {
	found := &surveyed{}
	if err := json.Unmarshal(s.config.survey, found); err != nil || found.Records < 0 {
		return errSurvey
	}
	seen, count := &node{}, 0
	if !found.into(seen, &count) {
		return errSurvey
	}
	root.merge(seen)
	s.records = found.Records
	return nil
}

// into adds the members to n; false if they cannot be from Survey.
func (s *surveyed) into(n *node, count *int) bool {
	n.kinds, n.first = s.Kinds, place{s.Chunk, s.Offset}
	for _, m := range s.Members {
		if *count++; m == nil || n.byName[m.Name] != nil || *count > 2*maxColumns*text.Workers() {
			return false
		}
		if !m.into(n.add(m.Name), count) {
			return false
		}
	}
	return true
}
