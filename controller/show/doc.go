// Package show shows the state to people and tools: the overview and the explanations of the status page, and the
// metrics of each scrape. It decides nothing a second time, and its lists are capped while they are made.
package show
