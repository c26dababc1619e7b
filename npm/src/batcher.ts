// Batcher: what is asked for in one turn of the event loop goes out together.

interface Waiting<In, Out> {
  item: In;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}

export class Batcher<In, Out> {
  private waiting: Waiting<In, Out>[] = [];

  /** `send` answers a list in its order; it is called with 1 to `most` items. */
  constructor(
    private readonly most: number,
    private readonly send: (items: In[]) => Promise<Out[]>,
  ) {}

  add(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.waiting.length === 1) queueMicrotask(() => this.flush());
    });
  }

  private flush(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (let first = 0; first < waiting.length; first += this.most) {
      void this.sendSome(waiting.slice(first, first + this.most));
    }
  }

  private async sendSome(some: Waiting<In, Out>[]): Promise<void> {
    try {
      const answers = await this.send(some.map(({ item }) => item));
      if (answers.length !== some.length) throw new StoreError("an answer is missing");
      some.forEach(({ resolve }, index) => resolve(answers[index]!));
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }
}

/** A store could not answer. It says nothing about the key. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}
