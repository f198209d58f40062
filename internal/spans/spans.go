// Package spans sends OpenTelemetry the spans of a command: one for the command, below it one for each phase of its
// Progress. They hold names of phases, times, numbers of records and the exit status, never a value, the name of a
// column or the text of an error. The standard variables of the environment say where they go
// (OTEL_EXPORTER_OTLP_ENDPOINT and those beside it), and TRACEPARENT which trace they belong to.
package spans

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// patience is how long the end of a command waits for its spans to arrive.
const patience = 5 * time.Second

// Command has the spans of one command. A nil Command has none.
type Command struct {
	log      zerolog.Logger
	provider *trace.TracerProvider
	tracer   api.Tracer
	within   context.Context // the command's span is the parent of what starts in it
	span     api.Span

	mu       sync.Mutex
	phase    api.Span // the present one; nil before the first
	progress *pipeline.Progress
	failed   error // the first that the exporter told
}

// Start begins the span of the command of this name. It connects to nobody. The result is nil where the environment
// names no collector, or says none (OTEL_TRACES_EXPORTER=none, OTEL_SDK_DISABLED=true).
func Start(name, version string, log zerolog.Logger) *Command {
	if !wanted() {
		return nil
	}
	c := &Command{log: log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(c.fail))
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{
		"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE"),
	})
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
	if err != nil {
		c.warn()
		return nil
	}
	// No detector of the process: its command line may hold what is meant for nobody.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "sdlfilter"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		c.fail(err) // a part of it is not understood; the rest is there
	}
	c.provider = trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	c.tracer = c.provider.Tracer("github.com/sdlfilter/sdlfilter", api.WithInstrumentationVersion(version))
	c.within, c.span = c.tracer.Start(ctx, name)
	return c
}

// wanted reports whether the environment names a collector.
func wanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Follow makes a span of each phase that p starts, until stop is called.
func (c *Command) Follow(p *pipeline.Progress) (stop func()) {
	if c == nil {
		return func() {}
	}
	c.progress = p
	p.Watch(c.next)
	return func() {
		p.Watch(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.close()
	}
}

// next ends the span of the present phase, and begins that of another one.
func (c *Command) next(phase string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close()
	_, c.phase = c.tracer.Start(c.within, phase)
}

// close ends the span of the present phase.
func (c *Command) close() {
	if c.phase == nil {
		return
	}
	c.phase.SetAttributes(attribute.Int64("sdlfilter.records", c.progress.Records()))
	c.phase.End()
	c.phase = nil
}

// End ends the span of the command with its exit status, and waits a while for all spans to arrive. What does not
// arrive is a warning on the log, and changes nothing else.
func (c *Command) End(status int) {
	if c == nil {
		return
	}
	c.span.SetAttributes(attribute.Int("process.exit.code", status))
	if status != 0 {
		c.span.SetStatus(codes.Error, "")
	}
	c.span.End()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.provider.Shutdown(ctx); err != nil {
		c.fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		c.warn()
	}
}

func (c *Command) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// warn says that spans are lost, in words of its own: the exporter's error holds what the server answered.
func (c *Command) warn() {
	c.log.Warn().Msg("OpenTelemetry: not all spans have reached the collector; the release is not affected")
}
