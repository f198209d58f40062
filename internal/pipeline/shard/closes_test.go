package shard

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	problems "github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
)

// opened is a CSV source that counts how often it was opened, and how many are still open.
type opened csv.SourceConfig

var openedInAll, openNow atomic.Int64

func (o *opened) Check() problems.Problems { return (*csv.SourceConfig)(o).Check() }

func (o *opened) Open(ctx context.Context) (connectors.Source, error) {
	src, err := (*csv.SourceConfig)(o).Open(ctx)
	if err != nil {
		return nil, err
	}
	openedInAll.Add(1)
	openNow.Add(1)
	return &closing{src}, nil
}

func (o *opened) Abilities() connectors.SourceConfigAbilities {
	return connectors.SourceConfigAbilities{}
}

type closing struct{ connectors.Source }

func (c *closing) Close() error {
	openNow.Add(-1)
	return c.Source.Close()
}

// However a plan, a survey, a pairing, a shard or a commit ends, it closes the source that it
// opened, once.
func TestSourcesAreClosed(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(m *Manifest) error
		commands   int // the first command that fails, of plan, survey, pair, shard and commit; 5: none
	}{
		{name: "nothing", commands: 5},
		{name: "the sink", commands: 0, want: "must be a folder for the parts"},
		{name: "the key", commands: 1, spoil: func(m *Manifest) error {
			m.KeyID = "another"
			return nil
		}, want: "the key is not the one"},
		{name: "the columns", commands: 1, spoil: func(m *Manifest) error {
			m.Columns = m.Columns[1:]
			return nil
		}, want: "the columns of the source are not those"},
		{name: "the source", commands: 1, spoil: func(m *Manifest) error {
			m.Files[0].Bytes++
			return nil
		}, want: "is not the file that was planned with"},
		{name: "the records", commands: 3, spoil: func(m *Manifest) error {
			m.Shards[0].Records++
			return nil
		}, want: "61 were planned"},
		{name: "the release", commands: 4, spoil: func(*Manifest) error {
			return os.WriteFile("released", nil, 0o600)
		}, want: "sink: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			prepare(t, "csv", 60, "")
			swapping(t, "masks:\n", swapAll)
			if c.commands == 0 {
				swapping(t, "path: released", `path: "-"`)
			}
			p := load(t)
			p.Source.Config = (*opened)(p.Source.Config.(*csv.SourceConfig))
			before := openedInAll.Load()
			var m *Manifest
			for i, do := range []func() error{
				func() (err error) { m, err = Plan(t.Context(), p, "pipeline.yaml", nil, 1, options); return err },
				func() error {
					if err := m.Write("plan.json"); err != nil {
						return err
					}
					if c.spoil != nil {
						if err := c.spoil(m); err != nil {
							return err
						}
					}
					s, err := Survey(t.Context(), p, m, 0, options)
					if err != nil {
						return err
					}
					return s.Write("surveys/0")
				},
				func() error { return Pair(t.Context(), p, m, "surveys", "pairs", options) },
				func() error {
					pairs, err := m.ReadPairs(t.Context(), "pairs", 0)
					if err != nil {
						return err
					}
					s, err := Run(t.Context(), p, m, 0, pairs, options)
					if err != nil {
						return err
					}
					return s.Write("states/0.state")
				},
				func() error { _, err := Commit(t.Context(), p, m, "states", options); return err },
			} {
				err := do()
				if all := openedInAll.Load() - before; all != int64(i+1) || openNow.Load() != 0 {
					t.Errorf("command %d: %d sources are still open, %d were opened", i, openNow.Load(), all)
				}
				if failed := i == c.commands; failed != (err != nil) || failed && !strings.Contains(err.Error(), c.want) {
					t.Fatalf("command %d: error %v, want %s", i, err, c.want)
				}
				if err != nil {
					return
				}
			}
		})
	}
}
