package gate

import (
	"encoding/json"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// Hidden is a content that a restart has brought to a workload that does not show it any more, because others have undone it, or
// have scaled, released, opted out or deleted the workload. The next leader learns only from what is kept of it that the workload is
// exposed. The record of the workload says so otherwise.
type Hidden struct {
	Workload names.WorkloadRef
	Config   names.ConfigRef
	// Keys and Content are those of the [Halt] that a failure would begin.
	Keys    []string
	Content string
	// Until is when the exposure is over without a verdict.
	Until time.Time
}

// hiddenRecord is a [Hidden] as it is kept outside the process, in JSON.
type hiddenRecord struct {
	Workload string    `json:"workload"`
	Config   string    `json:"config"`
	Keys     []string  `json:"keys,omitempty"`
	Content  string    `json:"content"`
	Until    time.Time `json:"until"`
}

// hiddenEntries begins the names of the entries of the ConfigMap of halts that keep what is hidden in a namespace.
const hiddenEntries = "exposed."

// HiddenEntry returns the name of the entry for a namespace, and HiddenText what it says.
func HiddenEntry(namespace string) string { return hiddenEntries + namespace + ".workloads" }

// HiddenText returns the text of an entry.
func HiddenText(all []Hidden) (string, error) {
	records := make([]hiddenRecord, 0, len(all))
	for i := range all {
		h := &all[i]
		records = append(records, hiddenRecord{h.Workload.String(), h.Config.String(), h.Keys, h.Content, h.Until.UTC()})
	}
	text, err := json.Marshal(records)
	return string(text), err
}

func isHiddenEntry(name string) bool { return strings.HasPrefix(name, hiddenEntries) }

// parseHidden reads an entry. What cannot be is left out.
func parseHidden(text string) (all []Hidden, err error) {
	records, err := parseRecords[hiddenRecord](text, "it is no list of workloads")
	for i := range records {
		r := &records[i]
		workload, isWorkload := names.ParseWorkloadRef(r.Workload)
		config, isConfig := names.ParseConfigRef(r.Config)
		if isWorkload && isConfig && r.Content != "" {
			all = append(all, Hidden{workload, config, r.Keys, r.Content, r.Until})
		}
	}
	return all, err
}
