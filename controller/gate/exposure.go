package gate

import (
	"encoding/json"
	"iter"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Exposure is a content that a restart has brought to a workload, and that is not judged. The record of the workload says so, unless
// others have undone the restart, or have scaled, released, opted out or deleted the workload.
type Exposure struct {
	Workload names.WorkloadRef
	Config   names.ConfigRef
	// Keys and Content are those of the [Halt] that a failure would begin.
	Keys    []string
	Content string
	// Until is when the exposure is over without a verdict, if nobody follows the restart.
	Until time.Time
}

// Exposures are those of one workload. There is at least one, and all are over at the same time, but for those of former leaders.
type Exposures struct {
	Of     []Exposure
	IsKept bool // for the next leader
}

// All yields the exposures. It may be called on nil.
func (e *Exposures) All() iter.Seq[*Exposure] {
	return func(yield func(*Exposure) bool) {
		for i := 0; e != nil && i < len(e.Of) && yield(&e.Of[i]); i++ {
		}
	}
}

// AreKept reports whether there are any that are kept for the next leader.
func (e *Exposures) AreKept() bool { return e != nil && e.IsKept }

// exposureRecord is an [Exposure] as it is kept outside the process, in JSON.
type exposureRecord struct {
	Workload string    `json:"workload"`
	Config   string    `json:"config"`
	Keys     []string  `json:"keys,omitempty"`
	Content  string    `json:"content"`
	Until    time.Time `json:"until"`
}

// exposedEntries begins the names of the entries of the ConfigMap of halts that keep the exposures of a namespace.
const exposedEntries = "exposed."

// ExposedEntry returns the name of the entry for a namespace, and ExposedText what it says.
func ExposedEntry(namespace string) string { return exposedEntries + namespace + ".workloads" }

// ExposedText returns the text of an entry.
func ExposedText(all []Exposure) (string, error) {
	records := make([]exposureRecord, 0, len(all))
	for i := range all {
		h := &all[i]
		records = append(records, exposureRecord{h.Workload.String(), h.Config.String(), h.Keys, h.Content, h.Until.UTC()})
	}
	text, err := json.Marshal(records)
	return string(text), err
}

func isExposedEntry(name string) bool { return strings.HasPrefix(name, exposedEntries) }

// parseExposures reads an entry. What cannot be is left out.
func parseExposures(text string) (all []Exposure, err error) {
	records, err := parseRecords[exposureRecord](text, "it is no list of workloads")
	for i := range records {
		r := &records[i]
		workload, isWorkload := names.ParseWorkloadRef(r.Workload)
		config, isConfig := names.ParseConfigRef(r.Config)
		if isWorkload && isConfig && r.Content != "" {
			all = append(all, Exposure{workload, config, r.Keys, r.Content, r.Until})
		}
	}
	return all, err
}
