package gate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// HaltRecord is a halt as it is kept outside the process, in JSON.
type HaltRecord struct {
	ID      string   `json:"id"`
	Config  string   `json:"config"`
	Keys    []string `json:"keys,omitempty"`
	Content string   `json:"content"`
	Key     string   `json:"key,omitempty"`
	Failed  []string `json:"failed"`
	// Pod, Container and Restarted are those of the [Evidence].
	Pod       string    `json:"pod,omitempty"`
	Container string    `json:"container,omitempty"`
	Restarted bool      `json:"restarted,omitempty"`
	Since     time.Time `json:"since"`
	Resumed   time.Time `json:"resumed,omitzero"`
	// Gone means that the config had another content, so that the halt held nothing. Whoever reads the record finds out anew.
	Gone bool `json:"gone,omitempty"`
	// Templates are those of the failed workloads.
	Templates []string `json:"templates,omitempty"`
}

// parseRecords reads the list of one entry, or returns an error, which says so otherwise.
func parseRecords[R any](text, otherwise string) (records []R, err error) {
	encoded := []byte(text)
	if _, err := template.CheckSize(encoded); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(encoded, &records); err != nil { // whose text is for programmers
		return nil, errors.New(otherwise)
	}
	return records, nil
}

// Halt returns the halt, and false if the record lacks what a halt needs, or if its id or config is no name that the
// API accepts: people paste both into a shell, as a part of the command that ends the halt. Failed workloads whose
// names cannot be read are left out.
func (r *HaltRecord) Halt() (Halt, bool) {
	config, ok := names.ParseConfigRef(r.Config)
	h := Halt{ID: r.ID, Config: config, Keys: r.Keys, Content: r.Content, Key: r.Key, Since: r.Since, Resumed: r.Resumed, isUnsure: r.Gone}
	for i, name := range r.Failed {
		if ref, isWorkload := names.ParseWorkloadRef(name); isWorkload && len(h.Failed) < maxFailed {
			template := ""
			if i < len(r.Templates) && len(r.Templates[i]) <= longestTemplate {
				template = r.Templates[i]
			}
			h.Failed, h.Templates = append(h.Failed, ref), append(h.Templates, template)
		}
	}
	if isNamed := len(validation.IsDNS1123Subdomain(r.Pod)) == 0 && (r.Container == "" || len(validation.IsDNS1123Label(r.Container)) == 0); isNamed {
		h.Evidence = Evidence{r.Pod, r.Container, r.Restarted} // people paste it into a shell, too
	}
	return h, ok && len(validation.IsDNS1123Subdomain(strings.ToLower(r.ID))) == 0 && r.Content != "" && isNamed(config)
}

// isNamed reports whether a config can have its name, or can be a group.
func isNamed(config names.ConfigRef) bool {
	for _, namespace := range []string{config.Namespace, config.Source().Namespace} {
		if namespace != everyNamespace && len(validation.IsDNS1123Label(namespace)) > 0 {
			return false
		}
	}
	return len(validation.IsDNS1123Subdomain(config.Source().Name)) == 0
}

// Record returns the record of the halt, which shares no memory with it.
func (h *Halt) Record() HaltRecord {
	record := HaltRecord{ID: h.ID, Config: h.Config.String(), Content: h.Content, Key: h.Key, Since: h.Since.UTC(), Resumed: h.Resumed.UTC(), Gone: h.isGone}
	record.Keys, record.Templates = slices.Clone(h.Keys), slices.Clone(h.Templates)
	record.Pod, record.Container, record.Restarted = h.Evidence.Pod, h.Evidence.Container, h.Evidence.HasRestarted
	for _, ref := range h.Failed {
		record.Failed = append(record.Failed, ref.String())
	}
	return record
}

// longestTemplate is how many bytes name the template of a failed workload at most.
const longestTemplate = 16

// longestEntry is how many bytes the API server allows in the name of an entry of a ConfigMap.
const longestEntry = 253

// EntryOf names the entry of a config or group in the ConfigMap that keeps the halts. Names of entries may not have slashes, and are shorter than the
// longest names of configs. It makes a name that the API server accepts of any text, since one that it rejects would keep
// all other halts out of the ConfigMap.
func EntryOf(config string) string {
	parts := strings.SplitN(config, "/", 3) // the last one has a slash if the config is one of another namespace
	name := strings.NewReplacer("/", "_", "*", "_").Replace(strings.Join(parts, "."))
	entry := strings.TrimLeft(strings.Map(entryCharacter, name), ".")
	if entry == name && name != "" && len(name) <= longestEntry {
		return name
	}
	sum := fmt.Sprintf(".%x", sha256.Sum256([]byte(name)))
	return entry[:min(len(entry), longestEntry-len(sum))] + sum
}

// entryCharacter returns the character that stands for another one in the name of an entry.
func entryCharacter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._", r) {
		return r
	}
	return '_'
}

// HoldEntry is the entry of the ConfigMap of halts that holds all restarts. Only people write it.
const HoldEntry = "hold"

// Entries are what the ConfigMap of halts says.
type Entries struct {
	// Hold is why all restarts are held, empty if they are not.
	Hold string
	// Halts are those of all entries that can be read, in no order.
	Halts []Halt
	// Exposed are the contents that workloads were exposed to.
	Exposed []Exposure
	// Unread says why other entries cannot be read, by their names. They have no effect.
	Unread map[string]string
}

// ReadEntries reads the ConfigMap of halts.
func ReadEntries(data map[string]string) Entries {
	entries := Entries{Unread: make(map[string]string)}
	for name, text := range data {
		if name == HoldEntry {
			entries.Hold = policy.ReasonOf(text)
			continue
		}
		if isExposedEntry(name) {
			exposed, err := parseExposures(text)
			if entries.Exposed = append(entries.Exposed, exposed...); err != nil {
				entries.Unread[name] = err.Error()
			}
			continue
		}
		records, err := parseRecords[HaltRecord](text, "it is no list of halts")
		if err != nil {
			entries.Unread[name] = err.Error()
		}
		for i := range records {
			if h, ok := records[i].Halt(); ok {
				entries.Halts = append(entries.Halts, h)
			} else {
				entries.Unread[name] = "a halt in it lacks its id, its config or its content"
			}
		}
	}
	return entries
}
