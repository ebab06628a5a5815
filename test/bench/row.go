package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// row is a line of the table.
type row struct {
	what, target, measured string
	// missed means that the target was not reached.
	missed bool
	// noTarget marks a number that is only there for comparison.
	noTarget bool
	// fault says what was lost or restarted needlessly; nil if nothing was.
	fault error
}

func (r row) verdict() string {
	switch {
	case r.fault != nil:
		return "WRONG"
	case r.noTarget:
		return ""
	case r.missed:
		return "MISSED"
	default:
		return "ok"
	}
}

// faults joins what was wrong in the rows.
func faults(rows []row) error {
	var errs []error
	for _, r := range rows {
		if r.fault != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.what, r.fault))
		}
	}
	return errors.Join(errs...)
}

func printTable(out io.Writer, rows []row) {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tTO REACH\tMEASURED\t")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.what, r.target, r.measured, r.verdict())
	}
	_ = table.Flush() // fails only as the writes of fmt do
}

func printMarkdown(out io.Writer, about []string, rows []row) {
	for _, line := range about {
		fmt.Fprintf(out, "- %s\n", line)
	}
	fmt.Fprint(out, "\n| what | to reach | measured | |\n|---|---|---|---|\n")
	for _, r := range rows {
		cells := []string{r.what, r.target, r.measured, r.verdict()}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
}

// upTo makes a row whose median is to be at most the target.
func upTo(what string, target float64, measured samples, format, unit string) row {
	return row{
		what:     what,
		target:   fmt.Sprintf("≤ %g %s", target, unit),
		measured: measured.spread(format, unit),
		missed:   measured.median() > target,
	}
}

// beside makes a row without a target.
func beside(what string, measured samples, format, unit string) row {
	return row{what: what, measured: measured.spread(format, unit), noTarget: true}
}
