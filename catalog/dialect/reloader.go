package dialect

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/glob"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// The annotations of Reloader; see https://docs.stakater.com/reloader/1.4/reference/annotations.html.
const (
	ReloaderAuto        = "reloader.stakater.com/auto"
	ReloaderSearch      = "reloader.stakater.com/search"
	reloaderIgnore      = "reloader.stakater.com/ignore" // on a config
	ReloaderMatch       = "reloader.stakater.com/match"  // on a config
	reloaderPausePeriod = "deployment.reloader.stakater.com/pause-period"
	reloaderStrategy    = "reloader.stakater.com/rollout-strategy" // on a Rollout of Argo Rollouts

)

// reloaderKind are the annotations of Reloader about one kind of config.
type reloaderKind struct {
	kind                 names.ConfigKind
	auto, named, exclude string
}

var reloaderKinds = []reloaderKind{
	{names.ConfigMap, "configmap.reloader.stakater.com/auto", "configmap.reloader.stakater.com/reload", "configmaps.exclude.reloader.stakater.com/reload"},
	{names.Secret, "secret.reloader.stakater.com/auto", "secret.reloader.stakater.com/reload", "secrets.exclude.reloader.stakater.com/reload"},
}

// reloaderSays is what a workload says about one kind of config: whether everything counts that its containers
// read, which configs count by their names, and whether those count that are marked.
type reloaderSays struct {
	*reloaderKind
	all, search     bool
	names, excluded []string
	// isOff means that the workload does not let everything count, and says so.
	isOff bool
	// by are the annotations of the workload itself that let configs count.
	by []string
}

// read reads what a workload says about the kind. The annotations of its pod template count if it has none itself
// that could let configs count. Only the workload itself excludes configs.
func (k *reloaderKind) read(workload, template map[string]string) reloaderSays {
	from, deciding := template, []string{k.auto, k.named, ReloaderAuto, ReloaderSearch}
	isOwn := slices.ContainsFunc(deciding, func(name string) bool { _, found := workload[name]; return found })
	if isOwn {
		from = workload
	}
	s := reloaderSays{
		reloaderKind: k,
		all:          isTrueText(from[k.auto]) || isTrueText(from[ReloaderAuto]),
		search:       from[ReloaderSearch] == "true",
		names:        namesIn(from[k.named]),
		excluded:     namesIn(workload[k.exclude]),
	}
	s.isOff = !s.all && from[k.auto]+from[ReloaderAuto] != ""
	if isOwn && s.optsIn() {
		s.by = slices.DeleteFunc(deciding, func(name string) bool { _, found := workload[name]; return !found })
	}
	return s
}

func (s *reloaderSays) optsIn() bool { return s.all || s.search || len(s.names) > 0 }

// isTrueText reads a truth value as Reloader does.
func isTrueText(text string) bool {
	is, err := strconv.ParseBool(text)
	return err == nil && is
}

// LongestList is how many bytes of a list of names are read, many times as many as all names that count can have.
const LongestList = 16 << 10

// namesIn returns the names in a list that is separated by commas. The end of a list that is too long is one name,
// which nothing can have, so that it is reported like any other name that cannot be used.
func namesIn(list string) []string {
	isCut := len(list) > LongestList
	if isCut {
		list = list[:1+strings.LastIndexByte(list[:LongestList], ',')]
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	if isCut {
		names = append(names, "what comes after too many bytes")
	}
	return names
}

// readReloader reads the annotations of Reloader. With [optin.Rules.ByDefault], which is its --auto-reload-all, they
// limit what counts only if they say so.
func readReloader(r *optin.Rules, kind names.WorkloadKind, parts *workload.Parts) said {
	configMaps := reloaderKinds[0].read(parts.Meta.Annotations, parts.Template.Annotations)
	secrets := reloaderKinds[1].read(parts.Meta.Annotations, parts.Template.Annotations)
	var s said
	switch {
	case configMaps.optsIn() || secrets.optsIn():
		s.choice, s.by = annotation.OptsIn, slices.Concat(configMaps.by, secrets.by)
	case configMaps.isOff && secrets.isOff:
		s.choice = annotation.OptsOut
	}
	for _, says := range []*reloaderSays{&configMaps, &secrets} {
		says.all = says.all || !says.isOff && (r.ByDefault || s.choice != annotation.OptsIn)
		s.exclude(says)
		s.count(says)
	}
	if configMaps.all && secrets.all {
		s.only, s.marked = nil, 0
	}
	s.limit()
	s.readManner(kind, parts)
	return s
}

// readManner reads how a workload of the kind restarts. It only concerns kinds that Reloader restarts in several ways.
func (s *said) readManner(kind names.WorkloadKind, parts *workload.Parts) {
	switch {
	case kind == names.Deployment:
		s.readPausePeriod(parts.Meta.Annotations)
	case parts.Rollout.OwnRestart != workload.NoOwnRestart && parts.Meta.Annotations[reloaderStrategy] == "restart":
		s.method = policy.ByEviction
	}
}

// count takes in which configs of a kind count.
func (s *said) count(says *reloaderSays) {
	kind := says.kind.String() + "/"
	if s.choice == annotation.Unsaid {
		if !says.all {
			s.ignore = append(s.ignore, kind+"*")
		}
		return
	}
	if says.all {
		s.only = append(s.only, kind+"*")
	}
	if says.search {
		s.marked |= 1 << says.kind
	}
	for _, pattern := range says.names {
		globs, err := glob.OfRegexp(pattern)
		if err != nil {
			s.reject(says.named, "cannot use the pattern %.60q: %v; everything of this kind counts that the containers read", pattern, err)
			globs = []string{"*"}
		}
		for _, name := range globs {
			if s.only = append(s.only, kind+name); glob.IsLiteral(name) {
				s.also = append(s.also, kind+name)
			}
		}
	}
}

// exclude takes in which configs of a kind do not count. They are not patterns.
func (s *said) exclude(says *reloaderSays) {
	for _, name := range says.excluded {
		if err := glob.CheckName(name); err != nil {
			s.reject(says.reloaderKind.exclude, "cannot use the name %.60q: %v, so it is not excluded", name, err)
			continue
		}
		s.ignore = append(s.ignore, says.kind.String()+"/"+name)
	}
}

// readPausePeriod reads for how long Reloader would pause a Deployment before it restarts it, so that all changes in
// that time cause one restart.
func (s *said) readPausePeriod(annotations map[string]string) {
	text, found := annotations[reloaderPausePeriod]
	if !found {
		return
	}
	switch period, err := time.ParseDuration(text); {
	case err != nil || period < 0:
		s.reject(reloaderPausePeriod, "%.40q is not a duration such as 90s, 2m or 1h30m, so it counts as absent", text)
	case period > workload.LongestGracePeriod:
		s.reject(reloaderPausePeriod, "%.40q is longer than a day; %s is used instead", text, workload.LongestGracePeriod)
		s.grace = workload.LongestGracePeriod.String()
	default:
		s.grace = text
	}
}
