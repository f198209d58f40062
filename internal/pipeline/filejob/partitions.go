package filejob

import (
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// checkPartitions refuses a release whose records would still be grouped by a column that is not
// released: the files of a folder are read one after another, so the records of one folder
// ssn=… stay together, in one part of the release or one after the other. A key that is released
// unmasked reveals the groups anyway, and a shuffled release has no groups.
func checkPartitions(pl *pipeline.Plan) error {
	if pl.Config.Sink.Shuffled() || len(pl.Source.Streams()) < 2 {
		return nil
	}
	keys, known := connectors.PartitionKeys(pl.Source)
	if !known {
		return config.Errors{
			pl.Config.Errorf("sink",
				"the source has %d streams and does not say how its records are divided among them, and the release would show this division: set order: shuffled",
				len(pl.Source.Streams()))}
	}
	var hidden []string
	for _, key := range keys {
		if !slices.ContainsFunc(pl.Layout.Release, func(o microdata.Output) bool {
			return o.Field.Name == key && !o.Masked
		}) {
			hidden = append(hidden, key)
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	return config.Errors{
		pl.Config.Errorf("sink",
			"the source's folders are named by %s, which is not released unchanged, and the records of a folder would stay together: set order: shuffled",
			strings.Join(hidden, ", "))}
}
