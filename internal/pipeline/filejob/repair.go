package filejob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
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
	if withheld || !publish.Left(ctx, public) { // of what was withheld nothing is for the public
		return completed, nil
	}
	if found, _, err = repairOne(ctx, public); found && err == nil {
		completed = append(completed, public)
	}
	return completed, err
}

// createReports opens the reports of a run. What an earlier run has left complete without its name, and is of
// the release that is there, gets its name first: if this run publishes nothing, the release keeps its report.
// Between the two nobody else can publish, if the run has opened its sink.
func createReports(ctx context.Context, files *account.Files, c config.Report) error {
	for _, path := range []string{c.JSON, c.HTML} {
		if path == "" || !publish.Left(ctx, path) && !publish.Left(ctx, config.PublicPath(path)) {
			continue
		}
		done, err := Repair(ctx, path)
		if errors.Is(err, publish.ErrLive) {
			return err // it may have published, and may be killed yet
		}
		// What does not belong to the release is removed, as any temporary file is.
		if err == nil && len(done) > 0 {
			zerolog.Ctx(ctx).Info().Strs("paths",
				done).Msg(
				"an earlier run has left reports of the release that is there complete, and without their names: they have them now")
		}
	}
	return files.Create(c)
}

// repairOne gives one report its name, unless what has the name is of the release that is there.
func repairOne(ctx context.Context, path string) (found, withheld bool, err error) {
	if text, err := publish.ReadFile(ctx, path); err == nil {
		if id, err := ofRelease(ctx, path, text); err == nil {
			return false, id.Withheld, nil
		}
	}
	found, err = publish.Recover(ctx, path, func(text []byte) error {
		id, err := ofRelease(ctx, path, text)
		withheld = id.Withheld
		return err
	})
	if err == nil && !found {
		err = pipeline.DataErrorf(
			"%s: no run has left this report complete without its name; the same run again, with the same key, gives the same release and its report", path)
	}
	return found, withheld, err
}

// ofRelease returns what a report says of its release, and an error if it is cut off or the release is another one.
func ofRelease(ctx context.Context, reportPath string, text []byte) (report.Identified, error) {
	id, err := report.ReadRelease(text)
	if page := filepath.Ext(reportPath) == ".html" && !objectpath.Is(reportPath); err == nil && page &&
		!bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>")) {
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
