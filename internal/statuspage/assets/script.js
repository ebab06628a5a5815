// Replaces the content of the page when the server reports a change. Without this script, the page reloads
// itself every few seconds.
'use strict';

const live = document.getElementById('live');
let isLoading = false, isOutdated = false;

function say(text, isAlarm) {
  live.textContent = text;
  live.classList.toggle('alarm', isAlarm);
}

// Whoever is about to copy a command must not lose the selection.
function isTextSelected() {
  const selection = getSelection();
  return !selection.isCollapsed && document.getElementById('main').contains(selection.anchorNode);
}

// Nor must whoever types lose the text.
function isTyping() {
  return [...document.querySelectorAll('input[type=search]')].some(field => field.value !== field.defaultValue);
}

function isInUse() {
  return isTextSelected() || isTyping();
}

function replaceMain(fresh) {
  const active = document.activeElement, focused = active.getAttribute('href'), {selectionStart, selectionEnd} = active;
  document.getElementById('main').replaceWith(fresh);
  if (active.matches('#query')) {
    const field = document.getElementById('query');
    field?.focus({preventScroll: true});
    field?.setSelectionRange(selectionStart, selectionEnd);
  } else if (focused) {
    [...document.links].find(link => link.getAttribute('href') === focused)?.focus({preventScroll: true});
  }
}

async function reload() {
  isLoading = true;
  isOutdated = false;
  try {
    const answer = await fetch(location.pathname + location.search, {cache: 'no-store'});
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.getElementById('main');
    if (!fresh) {
      say('not live: the page cannot be loaded', true);
    } else if (isInUse()) {
      isOutdated = true;
    } else {
      replaceMain(fresh);
      document.getElementById('about').textContent = page.getElementById('about')?.textContent ?? '';
      document.querySelector('.json').href = page.querySelector('.json').getAttribute('href'); // that of a standby has no search
      const isIncomplete = 'incomplete' in fresh.dataset;
      say(isIncomplete ? 'live, but incomplete' : 'live', isIncomplete);
    }
  } catch {
    say('connection lost', true);
  }
  isLoading = false;
  catchUp();
}

function catchUp() {
  if (!isOutdated || isLoading) {
    return;
  }
  if (isInUse()) {
    say(isTyping() ? 'paused while you type' : 'paused while text is selected', false);
  } else {
    reload();
  }
}

document.addEventListener('selectionchange', catchUp);
document.addEventListener('input', catchUp);

let events;

function openStream() {
  const opened = new EventSource(document.body.dataset.events + location.search);
  opened.addEventListener('change', () => {
    isOutdated = true;
    catchUp();
  });
  opened.addEventListener('error', () => {
    say(opened.readyState === EventSource.CLOSED ? 'not live: reload the page' : 'connection lost', true);
  });
  return opened;
}

// A browser has few connections to a server, and each stream takes one. So hidden pages have none, and catch up when
// they are visible again: a stream begins with a change.
function follow() {
  if (document.hidden) {
    events?.close();
    events = undefined;
  } else {
    events ??= openStream();
  }
}

document.addEventListener('visibilitychange', follow);
follow();
