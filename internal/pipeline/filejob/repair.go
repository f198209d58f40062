package filejob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Repair gives a report, and its public twin, the name that a run could not give it after the release had
// been published, or before it was killed. It returns the paths of what has got its name: none if reports and release
// belong together already. A *DataError means that nothing is left that belongs to the release.
func Repair(ctx context.Context, reportPath string) (completed []string, err error) {
	found, withheld, err := repairOne(ctx, reportPath)
	if err != nil {
		return nil, err
	}
	if found {
		completed = append(completed, reportPath)
	}
	public := config.PublicPath(reportPath)
	if withheld || !publish.Exists(ctx, publish.TempName(public)) { // of what was withheld nothing is for the public
		return completed, nil
	}
	if found, _, err = repairOne(ctx, public); found && err == nil {
		completed = append(completed, public)
	}
	return completed, err
}

// repairOne gives one report its name, unless what has the name is of the release that is there.
func repairOne(ctx context.Context, path string) (found, withheld bool, err error) {
	if text, err := publish.ReadFile(ctx, path); err == nil {
		if id, err := ofRelease(ctx, path, text); err == nil {
			return false, id.Withheld, nil
		}
	}
	found, err = publish.Recover(path, func(text []byte) error {
		id, err := ofRelease(ctx, path, text)
		withheld = id.Withheld
		return err
	})
	if err == nil && !found {
		err = pipeline.DataErrorf("%s: no run has left this report complete without its name; the same run again, with the same key, gives the same release and its report", path)
	}
	return found, withheld, err
}

// ofRelease returns what a report says of its release, and an error if it is cut off or the release is another one.
func ofRelease(ctx context.Context, reportPath string, text []byte) (report.Identified, error) {
	id, err := report.ReadRelease(text)
	if page := filepath.Ext(reportPath) == ".html"; err == nil && page && !bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>")) {
		err = errors.New("the page is cut off")
	}
	if err != nil {
		return id, pipeline.DataErrorf("%s: what a run has left: %v", reportPath, err)
	}
	v, err := verifyIdentified(ctx, reportPath, "", id)
	if err != nil {
		return id, err
	}
	if !v.Agree {
		return id, fmt.Errorf("%s: what a run has left is of another release than there is: %s", reportPath, v.Words)
	}
	return id, nil
}
