package core

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/memory"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Expect tells the chain how many records the survey will see, so that masks which cannot hold them
// are refused with the first block. Without it, or with less than 0, they are refused when they
// have taken as many as there is memory for.
func (c *Chain) Expect(records int64) { c.Expected = max(records, 0) }

// Fits returns an error if the masks that hold records take more memory than there is. It names the
// one that takes the most.
func (c *Chain) Fits() error {
	var (
		all, most int64
		greatest  Surveying
	)
	for _, s := range c.Steps[:c.survey] {
		h, ok := s.(Surveying)
		if !ok {
			continue
		}
		n := h.Holds(c.Expected)
		if all += n; greatest == nil || n > most {
			greatest, most = h, n
		}
	}
	if all <= c.Room() {
		return nil
	}
	p := c.Masks[greatest.Of()].Params
	return c.Refused(greatest.Of(), &decision.Refusal{Text: fmt.Sprintf(
		"holds its columns in memory, and for the records so far or expected the masks take %d MB where %d MB are left for them: "+
			"give the process more (a limit of %d MB; --memory, or that of its container), cut the data into parts that are released by themselves, or use %s",
		megabytes(all), c.Room()/1e6, megabytes(all+memory.Own), InsteadOf(p))})
}

// megabytes rounds up.
func megabytes(bytes int64) int64 { return (bytes + 1e6 - 1) / 1e6 }

// discarding is a step whose memory others may use after a replicate.
type discarding interface{ Discard() }

// Discard gives the memory that a replicate has gathered to others. The chain must not be used any more; masks of scope
// dataset would refuse it.
func (c *Chain) Discard() {
	if c.ReplicateNumber == 0 {
		return
	}
	for _, s := range c.Steps {
		if s, ok := s.(discarding); ok {
			s.Discard()
		}
	}
	c.Surveyed = false
}
