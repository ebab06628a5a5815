package record

import (
	"slices"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Without is what a record does not cover, as the basis says it.
type Without struct {
	// Filter is the filter by which the checksums were made.
	Filter template.Filter `json:"filter,omitzero"`
	// Ignored are the configs that were ignored; see [decide.ignored].
	Ignored string `json:"ignored,omitempty"`
}

// Uncovered returns what the record does not cover.
func (r *Record) Uncovered() Without {
	if r.Without == nil {
		return Without{}
	}
	return *r.Without
}

// Filter returns the filter by which the checksums were made.
func (r *Record) Filter() template.Filter { return r.Uncovered().Filter }

const (
	// MaxIgnored is how many bytes the names of ignored configs may have in the basis.
	MaxIgnored = 512
	// OtherIgnored stands for those that do not fit: any config that the record lacks.
	OtherIgnored = "*"
)

// SaysIgnored reports whether a trusted record lacks a config because it was ignored.
func (r *Record) SaysIgnored(ref names.ConfigRef) bool {
	if r.Without == nil || r.Without.Ignored == "" {
		return false
	}
	names, _ := strings.CutSuffix(r.Without.Ignored, ","+OtherIgnored)
	hasOthers := strings.HasSuffix(r.Without.Ignored, OtherIgnored)
	_, isRecorded := r.Checksums[ref]
	return !isRecorded && (hasOthers || slices.Contains(strings.Split(names, ","), ref.NameWithin()))
}
