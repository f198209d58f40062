package csv

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/text"
)

// surveyed is the result of the survey of columns without a declared type, in JSON.
type surveyed struct {
	Names   []string     `json:"names"`
	Kinds   []text.Kinds `json:"kinds"`
	Records int64        `json:"records"`
}

// errSurvey is returned for an invalid survey from another process.
var errSurvey = errors.New("the columns are not those whose types were inferred")

func (c *SourceConfig) withSurvey(survey json.RawMessage) connectors.SourceConfig {
	knowing := *c
	knowing.survey = survey
	return &knowing
}

func (c *SourceConfig) withStreams(needed func(stream int) bool) connectors.SourceConfig {
	choosing := *c
	choosing.needed = needed
	return &choosing
}

func (s *source) found() (json.RawMessage, error) {
	if s.kinds == nil {
		return nil, nil
	}
	return json.Marshal(surveyed{s.schema.Names(), s.kinds, s.records})
}

// recall uses the survey of another process instead of making one.
func (s *source) recall(names []string, kinds []text.Kinds) error {
	var found surveyed
	if err := json.Unmarshal(s.config.survey, &found); err != nil || !slices.Equal(found.Names, names) ||
		len(found.Kinds) != len(kinds) || found.Records < 0 {
		return errSurvey
	}
	copy(kinds, found.Kinds)
	s.records = found.Records
	return nil
}
