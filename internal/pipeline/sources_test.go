package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
)

// grouped is a source that is opened with others of its kind.
type grouped struct {
	*counting
	with *[][]connectors.SourceConfig // what was opened together
	name *string                      // by SetPipeline
}

func (g grouped) Abilities() connectors.SourceConfigAbilities {
	can := g.counting.Abilities()
	can.SetPipeline = func(name string) { *g.name = name }
	can.OpenTogether = func(ctx context.Context, all []connectors.SourceConfig) (list []connectors.Source, err error) {
		*g.with = append(*g.with, all)
		for _, c := range all {
			if *c.(grouped).name == "" {
				return nil, fmt.Errorf("nothing was said to a source")
			}
			src, err := c.Open(ctx)
			if err != nil {
				for _, opened := range list {
					opened.Close()
				}
				return list, err
			}
			list = append(list, src)
		}
		return list, nil
	}
	return can
}

// Sources of one database are opened together, each other by itself, and come in the order of their pipelines.
// Whichever cannot be opened, or does not fit its pipeline, the error is about it, and all others are closed.
func TestOpenSources(t *testing.T) {
	for kinds := range strings.SplitSeq("f|ff|d|dd|fd|df|fdd|dfd|ddf|dffd", "|") {
		for broken := -1; broken < len(kinds); broken++ {
			for _, late := range []bool{false, true} {
				var all []*config.Pipeline
				var counts []*counting
				var with [][]connectors.SourceConfig
				for i, kind := range kinds {
					p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n")
					p.Name = fmt.Sprint("p", i)
					c := &counting{SourceConfig: p.Source.Config}
					if i == broken && !late {
						c.SourceConfig = (&faulty.Calls{Name: "open", N: 1}).Config(c.SourceConfig)
					} else if i == broken {
						p.Place = &config.Place{Stream: "gone", Record: "wage"}
					}
					counts, p.Source.Config = append(counts, c), c
					if kind == 'd' {
						p.Source.Config, p.Source.Kind = grouped{c, &with, new(string)}, "d"
					}
					all = append(all, p)
				}
				list, index, err := OpenSources(t.Context(), all)
				what := fmt.Sprintf("%s, broken %d, late %v", kinds, broken, late)
				if len(with) > 1 || len(with) == 1 && len(with[0]) != strings.Count(kinds, "d") ||
					len(with) == 0 && strings.Contains(kinds, "d") {
					t.Errorf("%s: %d groups are opened", what, len(with))
				}
				if broken < 0 {
					if err != nil || len(list) != len(kinds) {
						t.Fatalf("%s: %d sources, %v", what, len(list), err)
					}
					for i, src := range list {
						src.Close()
						if counts[i].closed != 1 {
							t.Errorf("%s: source %d is that of another pipeline", what, i)
						}
					}
					continue
				}
				if err == nil || index != broken || list != nil {
					t.Errorf("%s: %v, index %d", what, err, index)
				}
				if slices.ContainsFunc(counts, func(c *counting) bool { return c.closed > 1 || c.closed != c.opened }) {
					t.Errorf("%s: closed %+v", what, counts)
				}
			}
		}
	}
}
