package account

import (
	"errors"
	"math"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
)

// SnapshotInterval is the time between snapshots if the configuration names a destination
// but no interval.
const SnapshotInterval = 30 * time.Second

// LogSnapshot writes a log line for each masked column, about all records so far.
func LogSnapshot(log zerolog.Logger, level zerolog.Level, rep *report.Report) {
	for _, c := range rep.Columns {
		if !c.Masked {
			continue
		}
		event := log.WithLevel(level).Int64("snapshot", rep.Snapshot).Int64("records", rep.Records.Read).
			Str("column", c.Name).Float64("efficiency", float64(c.Utility.Efficiency))
		least := assess.Risk{RMSE: assess.Float(math.NaN())}
		for _, k := range c.Risk {
			if !(least.RMSE <= k.RMSE) {
				least = k
			}
		}
		event.Str("target", least.Target).Str("knowledge", least.Knowledge).Float64("rmse", float64(least.RMSE)).Msg(
			"snapshot")
	}
}

// CloseAll closes the files that snapshots go to.
func CloseAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
