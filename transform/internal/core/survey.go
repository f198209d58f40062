package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Surveying is a step that looks at all records before any is masked.
type Surveying interface {
	Step
	Survey(c *Chain, w *Work, b *microdata.Block) error
	Decide(c *Chain) error // after the last block
	// Holds returns the bytes of memory that it takes at its peak, with as many records as it has now, or
	// as are expected if these are more.
	Holds(expected int64) int64
	Of() int // its place in the list of masks
}

// preparing is a surveying step that does a part of survey for each block by itself. It leaves
// its results in the scratch space that survey is then called with.
type preparing interface {
	Surveying
	Prepare(c *Chain, w *Work, b *microdata.Block) error
}

// writingAlone is a step that only changes the columns that its mask names: it rejects no
// record.
type writingAlone interface{ WritesAlone() }

// Prepared is the result of Prepare for one block of the first pass.
type Prepared struct {
	block *microdata.Block
	work  *Work
}

// Survey takes a block of the first pass. Blocks come one at a time, in the
// order of the source, cut as those of Apply are. The block's released columns
// are undefined afterwards.
func (c *Chain) Survey(b *microdata.Block) error {
	p, err := c.Prepare(b)
	if err != nil {
		return err
	}
	return c.SurveyPrepared(p)
}

// Prepare does the part of Survey that needs no other block. It may be called from many
// goroutines, for blocks in any order; SurveyPrepared must follow for each.
func (c *Chain) Prepare(b *microdata.Block) (Prepared, error) {
	if c.Surveyed {
		return Prepared{}, errors.New("survey: has ended already")
	}
	p := Prepared{b, c.scratch.Get().(*Work)}
	if err := c.open(p.work, b); err != nil {
		return Prepared{}, err
	}
	for i, s := range c.Steps[:c.survey] {
		if d, ok := s.(preparing); ok {
			if err := d.Prepare(c, p.work, b); err != nil {
				return Prepared{}, err
			}
		}
		if _, ok := s.(Surveying); ok {
			break // later steps are done in SurveyPrepared, in the order of the source
		}
		if c.Unseen[i] {
			continue
		}
		if err := s.Apply(c, p.work, b); err != nil {
			return Prepared{}, err
		}
	}
	return p, nil
}

// SurveyPrepared completes Survey after Prepare. Blocks come one at a time, in the order of the
// source.
func (c *Chain) SurveyPrepared(p Prepared) error {
	defer c.scratch.Put(p.work)
	prepared := true
	for _, s := range c.Steps[:c.survey] {
		var err error
		if d, ok := s.(Surveying); ok {
			if d, ok := d.(preparing); ok && !prepared {
				err = d.Prepare(c, p.work, p.block)
			}
			if prepared = false; err == nil {
				err = d.Survey(c, p.work, p.block)
			}
		} else if !prepared {
			err = s.Apply(c, p.work, p.block)
		}
		if err != nil {
			return err
		}
	}
	return c.Fits()
}

// ErrCancelled is the error that EndSurvey returns after Cancel.
var ErrCancelled = errors.New("cancelled while masks were deciding")

// Cancel makes EndSurvey, whether running or called later, return ErrCancelled at its next check:
// between two masks, and within the decision of each after a few thousand records, combinations
// or groups. The chain must not be used any more then.
func (c *Chain) Cancel() { c.Cancelled.Store(true) }

// EndSurvey makes the decisions of the masks of scope dataset, and frees the data that Survey
// kept for them. The error is a *SurveyError if the data do not allow a mask, and
// ErrCancelled after Cancel.
func (c *Chain) EndSurvey() error {
	for _, s := range c.Steps {
		if c.Cancelled.Load() {
			return ErrCancelled
		}
		if d, ok := s.(Surveying); ok {
			if err := d.Decide(c); err != nil {
				return err
			}
		}
	}
	for i := range c.TouchedBy {
		c.TouchedBy[i].Store(0) // the records changed in the survey were not released
	}
	c.unidentified.Store(0)
	c.Surveyed = true
	return nil
}

// settleSurvey finds the steps that change only columns that no later surveying step uses.
func (c *Chain) settleSurvey() {
	c.Unseen = make([]bool, c.survey)
	var looked []string
	for i := c.survey - 1; i >= 0; i-- {
		p := c.Masks[i].Params
		if _, alone := c.Steps[i].(writingAlone); alone && !meet(p.Masks(), looked) {
			c.Unseen[i] = true
			continue
		}
		looked = append(append(looked, p.Masks()...), p.Reads()...)
	}
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

// SurveyError reports that the data do not allow a parameter of a mask. Text contains no value of
// the data.
type SurveyError struct {
	Mask int    // in the list of masks
	Path string // of the parameter within the mask; "" for the mask as a whole
	Text string
	kind string
}

// Error implements error.
func (e *SurveyError) Error() string {
	at := fmt.Sprintf("masks[%d].%s", e.Mask, e.kind)
	if e.Path != "" {
		at += "." + e.Path
	}
	return at + ": " + e.Text
}

// Refused is the error of mask i whose decision the data do not allow.
func (c *Chain) Refused(i int, e *decision.Refusal) error {
	return &SurveyError{Mask: i, Path: e.Path, Text: e.Text, kind: c.Masks[i].Kind()}
}

// UnfitData marks the error as an assess.Unfit: the configuration may work with other data.
func (e *SurveyError) UnfitData() {}
