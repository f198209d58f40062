// Package monitor shows a running stream to whoever operates it: metrics for
// Prometheus, health for an orchestrator, the current snapshot as JSON, and a
// page that shows it live.
//
// The pipeline tells a Monitor what happens; nothing here measures, judges or
// touches data. Every method may be called on a nil *Monitor, from any goroutine,
// and never waits for a client of the server.
//
// What is served is less than a report: no extremes, no distributions, no risk
// from which one respondent's value would follow (see shown). It is still an
// account of the original data, for the operators of the filter, not for the
// public.
package monitor
