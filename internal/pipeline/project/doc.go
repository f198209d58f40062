// Package project releases several tables together: persons, the households in which they live, and what happened to
// them. Each table is a pipeline of its own, keys join their records, one more verdict is about the person whom all
// tables describe together, and all tables are published in one step or none. docs/project.md describes it for users,
// config.go what is configured, run.go a run, kept.go which records leave with those of other tables, person.go the
// verdict.
package project
