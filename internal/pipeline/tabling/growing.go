package tabling

import (
	"errors"
	"io/fs"
	"os"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// alone refuses tables of a topic if there is an earlier release. A topic grows, so tables of its
// earlier and of its present records are linked: their differences are tables of the records in
// between. The audit knows only one release. Cell keys are the exception, as in spec TABLES §4:
// the same contributors have the same noise in both. For values they are none: with each new contributor of a cell the
// largest one is seen behind another noise, and the mean of many releases is her contribution.
func (r *records) alone() error {
	if r.windowed || r.source.Abilities().Numbered == nil {
		return nil // windows have no record in common
	}
	return linked(r.config)
}

// linked returns a config.Errors if a release under the sink's name may be one of fewer records
// of the same topic, and some table has another protection than cell keys.
func linked(t *tabulation.Config) error {
	table := -1
	for i := range t.Tables {
		if c := t.Tables[i].Protect.CellKey; c == nil || c.Values != nil {
			table = i
			break
		}
	}
	if table < 0 {
		return nil
	}
	var wrong config.Errors
	for _, path := range t.Sink.Config.Paths() {
		if t.Sink.Kind == "postgres" || path == "stdout" || objectpath.Is(path) {
			wrong = append(wrong,
				t.Errorf("sink."+t.Sink.Kind,
					"must be a local file for the tables of a topic, so that an earlier release is seen; or protect all tables by cell_key, and have no values"))
			continue
		}
		switch _, err := os.Lstat(path); {
		case err == nil:
			wrong = append(wrong,
				t.Errorf("sink."+t.Sink.Kind,
					"%s: is there already, and tables[%d] is not of counts that are protected by cell_key: a topic grows, and what two releases of it differ by can disclose what each of them hides; protect counts by cell_key, or publish only once", path, table))
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}
