// Package show shows the state to people and tools: the overview and the explanations of the status page, and the
// metrics of each scrape. Its lists are capped while they are made.
package show
