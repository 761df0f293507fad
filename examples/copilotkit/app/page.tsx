import { Desk } from "../components/desk";

export default function Page() {
  return <Desk />;
}
