package pipeline

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
)

// Options are what a run needs in addition to its configuration.
type Options struct {
	Version  string // of the program, for the report
	Log      zerolog.Logger
	Progress *Progress // may be nil

	// AllowLoosening allows settings of the environment and the command line that release more
	// than the configuration file does. The report names them.
	AllowLoosening bool

	Monitor *monitor.Monitor // of a stream; may be nil
	Reload  <-chan Changed   // of a stream: changed configurations; may be nil

	// Drain is how long the last transaction of a stream may take after it is told to end; 0: a
	// minute.
	Drain time.Duration
}

// Changed is a configuration that was read again, or the error of reading it.
type Changed struct {
	Config *config.Pipeline
	Err    error
}

// Ready gives the options a Progress if they have none, and puts their logger into ctx.
func (o Options) Ready(ctx context.Context) (context.Context, Options) {
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	return o.Log.WithContext(ctx), o
}
