package pipeline

import (
	"os"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// WritesStdout reports whether the release goes to standard output, named - or otherwise
// (/dev/stdout).
func WritesStdout(p *config.Pipeline) bool {
	for _, path := range p.Sink.Config.Paths() {
		if path != "stdout" && !isStdout(path) {
			return false
		}
	}
	return true
}

func isStdout(path string) bool {
	if device, err := publish.Device(path); err != nil || !device {
		return false
	}
	there, err1 := os.Stat(path)
	out, err2 := os.Stdout.Stat()
	return err1 == nil && err2 == nil && os.SameFile(there, out)
}
