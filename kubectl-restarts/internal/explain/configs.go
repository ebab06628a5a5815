package explain

import (
	"cmp"
	"slices"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// What the containers of a workload read, and how its content relates to the record.

// ConfigRow is a config that the workload reads.
type ConfigRow struct {
	Config string `json:"config"`
	// Keys names the keys that the containers see. It counts those of a Secret, as far as they are known.
	Keys     string `json:"keys"`
	ReadAs   string `json:"readAs"`
	Optional bool   `json:"optional"`
	Content  string `json:"content,omitempty"` // empty for a run
}

// configs returns a row for each config that the workload reads.
func (in *Input) configs() []ConfigRow {
	rows := []ConfigRow{}
	for _, ref := range in.Workload.Configs() {
		row := ConfigRow{Config: facts.ConfigName(ref), ReadAs: in.Workload.ReadAs(ref), Content: in.content(ref), Optional: true}
		var names []string
		seesAll, rules := false, ""
		for _, reference := range in.Workload.ReferencesTo(ref) {
			listed, _ := reference.Keys.Listed()
			names = append(names, listed...)
			seesAll, rules = seesAll || reference.Keys.HasAll(), cmp.Or(rules, reference.Keys.Rules())
			row.Optional = row.Optional && reference.Optional
		}
		switch {
		case in.isIgnored(ref):
			row.Keys = "none: the config is ignored"
		case !seesAll && in.Workload.SeesAllButHidden(ref):
			row.Keys = in.allButHidden(ref)
		default:
			row.Keys = keys(ref, names, seesAll, rules)
		}
		rows = append(rows, row)
	}
	return rows
}

// isIgnored reports whether the workload ignores a config, as far as its annotations are known.
func (in *Input) isIgnored(ref names.ConfigRef) bool {
	return slices.ContainsFunc(in.Configs, func(c *content.Config) bool { return c.Ref == ref && in.Workload.Ignores(c) })
}

// allButHidden says that the containers see all keys but those that something else replaces, as a variable or as a file.
func (in *Input) allButHidden(ref names.ConfigRef) string {
	config := in.config(ref)
	if config == nil || ref.Kind.IsSecret() {
		return "all that nothing replaces"
	}
	if hidden := in.Workload.Unseen(config); len(hidden) > 0 {
		return "all but " + text.List(hidden, namedKeys)
	}
	return "all"
}

// namedKeys is how many keys of a config are named.
const namedKeys = 10

// keys says which keys the containers see. The rules describe those that annotations leave, and name keys, too.
func keys(ref names.ConfigRef, names []string, seesAll bool, rules string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case rules != "" && ref.Kind.IsSecret():
		return "those that only and ignore leave"
	case rules != "":
		return rules
	case seesAll:
		return "all"
	case ref.Kind.IsSecret():
		return text.Count(len(names), "key")
	}
	return text.List(names, namedKeys)
}

// content says how the content of a config relates to the record.
func (in *Input) content(ref names.ConfigRef) string {
	config := in.config(ref)
	switch {
	case ref.Kind.IsPerPod():
		return "each pod has its own, which counts with --csi"
	case slices.Contains(in.Unreadable, ref):
		return "you may not read it"
	case config == nil:
		return "missing"
	case ref.Kind.IsSecret() && !in.Workload.EditedAfterRecord(config).IsZero():
		return "edited after the record; its data is not read"
	case ref.Kind.IsSecret():
		return "not compared: its data is not read"
	case !in.Workload.Record.Trusted:
		return "not compared: there is no trusted record"
	}
	switch isRecorded, isSame := in.Workload.Recorded(config); {
	case !isRecorded:
		return "not in the record"
	case isSame:
		return "as recorded"
	}
	return "differs from the record"
}

func (in *Input) config(ref names.ConfigRef) *content.Config {
	for _, config := range in.Configs {
		if config.Ref == ref {
			return config
		}
	}
	return nil
}
