// Search without a server: a browser starts no worker from a file, so the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  self.Worker = self.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.appendChild(frame);
      this.frame = frame.contentWindow;
      this.frame.tell = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.frame.importScripts = (...urls) =>
        urls.reduce((before, src) => before.then(() => this.load(src)), Promise.resolve());
      this.frame.postMessage = (data) => setTimeout(() => this.frame.tell(data));
      this.load(url).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        for (const data of waiting) this.postMessage(data);
      });
    }
    load(src) {
      return new Promise((done, failed) => {
        const script = this.frame.document.createElement("script");
        script.src = new URL(src, location.href).href;
        script.onload = done;
        script.onerror = failed;
        this.frame.document.body.appendChild(script);
      });
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.dispatchEvent(new this.frame.MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
