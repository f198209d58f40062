package account

import (
	"errors"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
)

// SnapshotInterval is the time between snapshots if the configuration names a destination
// but no interval.
const SnapshotInterval = 30 * time.Second

// LogSnapshot writes a log line for each masked column, about all records so far: what report.Brief has of it, since
// two snapshots may be a record apart.
func LogSnapshot(log zerolog.Logger, level zerolog.Level, rep *report.Report) {
	for _, c := range rep.Brief(0, nil).Columns {
		log.WithLevel(level).Int64("snapshot", rep.Snapshot).Int64("records", rep.Records.Read).
			Str("column", c.Name).Float64("efficiency", float64(c.Value.Efficiency)).
			Str("target", c.Value.Target).Str("knowledge", c.Value.Knowledge).Float64("rmse", float64(c.Value.RMSE)).
			Msg("snapshot")
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
