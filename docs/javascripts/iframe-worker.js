// Browsers refuse workers to pages that are opened from the file system. There the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inner = frame.contentWindow
      window.addEventListener("message", event => {
        if (event.source !== this.inner) return
        const copy = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(copy)
        if (this.onmessage) this.onmessage(copy)
      })
      this.ready = new Promise(resolve => {
        const page = this.inner.document
        page.open()
        page.write("<!doctype html><html><body></body></html>")
        page.close()
        this.inner.postMessage = data => window.dispatchEvent(
          new MessageEvent("message", { data: structuredClone(data), source: this.inner })
        )
        const load = source => new Promise(done => {
          const script = page.createElement("script")
          script.src = source
          script.onload = script.onerror = done
          page.body.append(script)
        })
        this.inner.importScripts = (...sources) => sources.reduce((last, s) => last.then(() => load(s)), Promise.resolve())
        load(url).then(resolve)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })))
    }

    terminate() {
      this.inner.frameElement.remove()
    }
  }
}
