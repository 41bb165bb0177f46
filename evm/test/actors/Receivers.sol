// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {HookToken, ITransferHook} from "../tokens/HookToken.sol";

/// @notice A contract that refuses native value.
contract Refuser {
    error Refused();

    receive() external payable {
        revert Refused();
    }
}

/// @notice Burns all its gas.
contract GasBurner {
    receive() external payable {
        while (true) {}
    }
}

/// @notice Returns half a megabyte.
contract LongAnswerer {
    receive() external payable {
        assembly {
            return(0, 500000)
        }
    }
}

/// @notice Forwards native value in the same call, so that its balance stays the same.
contract Forwarder {
    address payable private immutable _next;

    constructor(address payable next) {
        _next = next;
    }

    receive() external payable {
        (bool sent,) = _next.call{value: address(this).balance}("");
        require(sent, "next refused");
    }
}

/// @notice Sends away more tokens than it receives.
contract Loser is ITransferHook {
    function onTransfer(address, address to, uint256 amount) external {
        bool burning = to == address(0);
        if (!burning) HookToken(msg.sender).burn(to, amount + 1);
    }
}

/// @notice Pays with the 2300 gas of Solidity's `transfer`, as old wallets do.
contract StipendPayer {
    function send(address payable to) external payable {
        to.transfer(msg.value);
    }
}
