package dialect

import (
	"slices"
	"strconv"
	"strings"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/optin"
)

// foreignSwitch is an annotation of another tool that a person sets to one of a few values. The tool takes any other value
// for the same as none.
type foreignSwitch struct {
	dialect optin.Dialect
	on      annotation.Place
	// meant are the values that mean something. With isBool, all spellings that [strconv.ParseBool] knows do.
	meant  []string
	isBool bool
	// enables means that it enables a workload.
	enables bool
}

var yesOrNo = []string{"true", "false"}

var switches = map[string]foreignSwitch{
	ReloaderAuto:          {optin.Reloader, annotation.OnWorkload | annotation.OnTemplate, yesOrNo, true, true},
	reloaderKinds[0].auto: {optin.Reloader, annotation.OnWorkload | annotation.OnTemplate, yesOrNo, true, true},
	reloaderKinds[1].auto: {optin.Reloader, annotation.OnWorkload | annotation.OnTemplate, yesOrNo, true, true},
	ReloaderSearch:        {optin.Reloader, annotation.OnWorkload | annotation.OnTemplate, yesOrNo, false, true},
	reloaderStrategy:      {optin.Reloader, annotation.OnWorkload, []string{"restart", "rollout"}, false, false},
	reloaderIgnore:        {optin.Reloader, annotation.OnConfig, yesOrNo, false, false},
	ReloaderMatch:         {optin.Reloader, annotation.OnConfig, yesOrNo, false, false},
	WaveEnabled:           {optin.Wave, annotation.OnWorkload, yesOrNo, false, true},
}

// lacksMeaning reports whether an annotation of another tool, which the rules understand, has a value that means nothing.
func lacksMeaning(r *optin.Rules, on annotation.Place, name, value string) bool {
	if len(r.Dialects) == 0 {
		return false
	}
	s, found := switches[name]
	if !found || s.on&on == 0 || !slices.Contains(r.Dialects, s.dialect) || slices.Contains(s.meant, value) {
		return false
	}
	_, err := strconv.ParseBool(value)
	return err != nil || !s.isBool
}

// quoted lists the values that a person can write.
func quoted(values []string) string {
	each := make([]string, len(values))
	for i, value := range values {
		each[i] = strconv.Quote(value)
	}
	return strings.Join(each, " or ")
}
